/** A session on the disk, written line by line as the engine writes it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createJournalReader } from '../../../src/cli/journal-reader.ts'
import type { SessionReader } from '../../../src/cli/session-reader.ts'
import { encode, START_CURSOR } from '../../../src/journal/codec.ts'
import { type SessionPaths, sessionPaths } from '../../../src/journal/paths.ts'
import type { EventDraft, Recorded } from '../../../src/machines/agent/events.ts'
import type { SessionId } from '../../../src/machines/ids.ts'
import { CHILD, delegation, ROOT, SESSION, type Told } from './facts.ts'

export interface WrittenSession {
  readonly home: string
  readonly project: string
  readonly paths: SessionPaths
  readonly childLog: string
  readonly reader: SessionReader
  remove(): void
}

/** The session with a child, in a temporary home. `edit` changes the text of a log before it is written. */
export function writeSession(
  edit: (log: string, agent: 'root' | 'child') => string = (log) => log,
  sessionId: SessionId = SESSION,
): WrittenSession {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-cli-')))
  const home = join(folder, 'home')
  const project = join(folder, 'project')
  mkdirSync(project)
  const paths = sessionPaths(home, project, sessionId)
  const childLog = paths.agentLog(CHILD)
  const { root, child } = delegation()
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  write(paths.rootLog, edit(textOf(root, project, sessionId), 'root'))
  write(childLog, edit(textOf(child, project, sessionId), 'child'))
  return {
    home,
    project,
    paths,
    childLog,
    reader: createJournalReader(home, project),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function textOf(agent: Told, cwd: string, sessionId: SessionId): string {
  const identity = {
    sessionId,
    agentId: agent.agentId,
    isSidechain: agent.agentId !== ROOT,
    cwd,
    version: '0.1.0',
  }
  let cursor = START_CURSOR
  let text = ''
  for (const recorded of agent.log) {
    const ids = recorded.lines[Symbol.iterator]()
    const encoded = encode(identity, cursor, draftOf(recorded), recorded.at, () => ids.next().value ?? '')
    cursor = encoded.cursor
    text += encoded.text
  }
  return text
}

function draftOf({ event }: Recorded): EventDraft {
  if (event.type !== 'reply.received') return event
  const { reply } = event
  return { type: 'reply.received', reply, concurrencySafe: reply.content.map(() => true) }
}
