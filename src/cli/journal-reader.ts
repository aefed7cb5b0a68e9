/** Sessions as the journal keeps them, for the command line. */
import { realpathSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createFileStorage } from '../journal/file-storage.ts'
import { sessionPaths } from '../journal/paths.ts'
import { readEntries } from '../journal/read-entries.ts'
import { findSession, latestSession, listSessions } from '../journal/sessions.ts'
import type { Storage } from '../journal/storage.ts'
import type { AgentId, SessionId } from '../machines/ids.ts'
import { CliError } from './errors.ts'
import type { SessionReader } from './session-reader.ts'

const LINE_FEED = 0x0a

/** Reads the sessions below `home` that belong to the project at `cwd`. */
export function createJournalReader(home: string, cwd: string): SessionReader {
  // Nothing is written through it; the durability has no meaning here.
  const storage = createFileStorage({ durability: 'write' })
  const project = realPath(cwd)

  const subagents = async (folder: string): Promise<string[]> =>
    (await storage.list(folder))
      .filter((name) => /^agent-.*\.jsonl$/.test(name))
      .map((name) => join(folder, name))

  // Ids come from the journal itself or from events: they have been checked.
  const pathsOf = (sessionId: string) => sessionPaths(home, project, sessionId as SessionId)

  return {
    list: () => listSessions(storage, home, project),
    latest: async () => (await latestSession(storage, home, project))?.sessionId,
    async find(idPrefix) {
      const found = await findSession(storage, home, project, idPrefix)
      if (found !== undefined) return found.sessionId
      throw new CliError(`there is no session "${idPrefix}" of ${project} below ${home}; see troupe sessions`)
    },
    async logsOf(sessionId) {
      const paths = pathsOf(sessionId)
      return [paths.rootLog, ...(await subagents(paths.subagents))]
    },
    logOf: (sessionId, agentId) => pathsOf(sessionId).agentLog(agentId as AgentId),
    async logsAt(path) {
      if ((await storage.stat(path)) === undefined) {
        throw new CliError(`there is no log at ${path}; see troupe sessions`)
      }
      if (statSync(path).isDirectory()) {
        throw new CliError(`${path} is a folder; name a log file in it, or the start of a session id`)
      }
      // Of a log by its name, damage is told line by line.
      if (!path.endsWith('.jsonl') && !(await beginsAsLog(storage, path))) {
        throw new CliError(`${path} is no log: its first line is no JSON object`)
      }
      if (basename(path).startsWith('agent-')) return [path]
      return [path, ...(await subagents(join(path.replace(/\.jsonl$/, ''), 'subagents')))]
    },
    read: (path) => readEntries(storage, path),
    async lineAt(path, offset) {
      let line = 1
      let position = 0
      for await (const bytes of storage.read(path)) {
        const end = Math.min(bytes.length, offset - position)
        for (let i = 0; i < end; i++) if (bytes[i] === LINE_FEED) line += 1
        position += bytes.length
        if (position >= offset) break
      }
      return line
    },
  }
}

/** A first line that a kill has torn begins as one, too; so does nothing. */
async function beginsAsLog(storage: Storage, path: string): Promise<boolean> {
  for await (const bytes of storage.read(path)) return Buffer.from(bytes).toString('utf8').startsWith('{')
  return true
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
