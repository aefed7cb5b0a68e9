/** `troupe log [ID|FILE]`: who did what, when. */
import { basename } from 'node:path'
import { coloursFor } from './colours.ts'
import { CliError, EXIT } from './errors.ts'
import { toJson } from './format.ts'
import { type Host, homeOf } from './host.ts'
import { mergeLogs } from './merge-logs.ts'
import type { LogEntry, SessionReader } from './session-reader.ts'
import { createStory } from './story.ts'
import { logsOfTarget } from './targets.ts'

export interface LogArguments {
  /** Start of a session id, or a file; undefined: the latest session. */
  readonly target: string | undefined
  /** Start of an agent id. */
  readonly agent: string | undefined
  readonly json: boolean
}

/** Columns of a story that goes to a file or a pipe. */
const PIPE_WIDTH = 160

/** Tells the story on standard output. Resolves with the exit code. */
export async function logCommand({ target, agent, json }: LogArguments, host: Host): Promise<number> {
  const reader = await host.sessions(homeOf(host))
  const logs = await logsOfTarget(target, reader, host)
  const story = createStory({
    colours: coloursFor(host.stdout, host.env),
    width: host.stdout.columns ?? PIPE_WIDTH,
    cwd: host.cwd,
  })
  for await (const entry of agent === undefined ? wholeStory(logs, reader) : oneAgent(logs, agent, reader)) {
    if (json) host.stdout.write(`${toJson({ log: entry.path, ...flat(entry.entry) })}\n`)
    else for (const line of story(entry)) host.stdout.write(`${line}\n`)
  }
  return EXIT.success
}

type Story = ReturnType<typeof mergeLogs>

/** The tree from its root, then logs that nothing leads to. */
async function* wholeStory(logs: readonly string[], reader: SessionReader): Story {
  const untold = new Map(logs.map((path) => [basename(path), path]))
  const take = (name: string): string | undefined => {
    const path = untold.get(name)
    untold.delete(name)
    return path
  }
  for (const log of logs) {
    if (take(basename(log)) === undefined) continue
    yield* mergeLogs(log, {
      read: (path) => reader.read(path),
      childLog: (agentId) => take(`agent-${agentId}.jsonl`),
    })
  }
}

async function* oneAgent(logs: readonly string[], idPrefix: string, reader: SessionReader): Story {
  const prefix = `agent-${idPrefix.replace(/^agent-/, '')}`
  const found = logs.filter((path) => basename(path).startsWith(prefix))
  const [log, other] = found.length > 0 ? found : await rootCalled(idPrefix, logs, reader)
  if (log === undefined)
    throw new CliError(`no agent of this session has an id that begins with ${idPrefix}; see troupe log`)
  if (other !== undefined)
    throw new CliError(`several agents have an id that begins with ${idPrefix}; give more of it`)
  yield* mergeLogs(log, { read: (path) => reader.read(path), childLog: () => undefined })
}

/** The root's log has the name of the session; its agent id is in its first line. `main` is understood as well. */
async function rootCalled(
  idPrefix: string,
  logs: readonly string[],
  reader: SessionReader,
): Promise<string[]> {
  const [root] = logs
  if (root === undefined) return []
  if (idPrefix === 'main') return [root]
  for await (const entry of reader.read(root)) {
    if (entry.kind !== 'event') continue
    const { event } = entry.recorded
    return event.type === 'agent.spawned' && event.agentId.startsWith(idPrefix) ? [root] : []
  }
  return []
}

function flat(entry: LogEntry): Readonly<Record<string, unknown>> {
  if (entry.kind !== 'event') return { [entry.kind]: { offset: entry.offset, detail: entry.detail } }
  const { seq, at, event, lines } = entry.recorded
  return { seq, at: new Date(at).toISOString(), event, lines }
}
