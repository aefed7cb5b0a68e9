/**
 * The tree of a session at any moment: every agent as it was then.
 *
 * A moment is a position of the root's log, or a time. A child is there from the line of its parent that names it;
 * what it had done by then is told by the times of its events, so of two things in one millisecond both have happened.
 * An end that the parent has been told of has happened, whatever the clocks say.
 */
import { basename, dirname, join } from 'node:path'
import type { Recorded, RunKey } from '../../machines/agent/events.ts'
import type { AgentId } from '../../machines/ids.ts'
import type { LogEntry } from '../log-entry.ts'
import { readEntries } from '../read-entries.ts'
import type { Storage } from '../storage.ts'
import type { UpcasterTable } from '../upcast.ts'
import type { Replay } from './replay.ts'
import { replayEntries } from './replay.ts'

export interface ReplaySessionOptions {
  /** Position of the root's log. */
  readonly until?: number | undefined
  /** Milliseconds since the epoch: nothing later counts. */
  readonly at?: number | undefined
  /** For logs with events of shapes that only the caller knows. */
  readonly upcasters?: UpcasterTable
}

/** An agent of the tree, and those that it had started by then. */
export interface ReplayedAgent extends Replay {
  readonly children: readonly ReplayedAgent[]
}

/** The tree below a root's log. Rejects as `replay` does; a child without a log yet has no events. */
export async function replaySession(
  storage: Storage,
  rootLog: string,
  { until, at = Number.POSITIVE_INFINITY, upcasters }: ReplaySessionOptions = {},
): Promise<ReplayedAgent> {
  const read: Read = (path) => readEntries(storage, path, { ...(upcasters && { upcasters }) })
  const isEarly = ({ at: time }: Recorded): boolean => time <= at
  const root = await replayEntries(storage, rootLog, only(read(rootLog), isEarly), until)
  // Of a position the moment is the time of its event; at the end of the log everything has happened.
  const moment = until === undefined ? at : (root.at ?? Number.NEGATIVE_INFINITY)
  return { ...root, children: await childrenOf({ storage, read }, root, subagentsOf(rootLog), moment) }
}

type Read = (path: string) => AsyncIterable<LogEntry>

interface Source {
  readonly storage: Storage
  readonly read: Read
}

/** The folder of the children's logs, which are all in one place however deep they are in the tree. */
const subagentsOf = (rootLog: string): string =>
  join(dirname(rootLog), basename(rootLog, '.jsonl'), 'subagents')

async function childrenOf(
  source: Source,
  parent: Replay,
  folder: string,
  moment: number,
): Promise<readonly ReplayedAgent[]> {
  const children: ReplayedAgent[] = []
  for (const { agentId, told } of await startedBy(source, parent)) {
    const path = join(folder, `agent-${agentId}.jsonl`)
    const toldUp = told ?? 0
    const counts = ({ at, event }: Recorded): boolean =>
      at <= moment || (toldUp > 0 && (event.type !== 'run.started' || event.run <= toldUp))
    const exists = await source.storage.exists(path)
    const entries = exists ? only(source.read(path), counts) : none()
    const child = await replayEntries(source.storage, path, entries)
    children.push({ ...child, children: await childrenOf(source, child, folder, moment) })
  }
  return children
}

/** The children that the events of a replay name, each with the run whose end was delivered last. */
async function startedBy(
  { read }: Source,
  { path, position }: Replay,
): Promise<readonly { readonly agentId: AgentId; readonly told: number | undefined }[]> {
  const children = new Map<AgentId, number | undefined>()
  const tell = ({ agentId, run }: RunKey): void => {
    if (children.has(agentId)) children.set(agentId, run)
  }
  for await (const entry of read(path)) {
    if (entry.kind !== 'event') continue
    const { seq, event } = entry.recorded
    if (seq > position) break
    if (event.type === 'call.started' && event.child !== undefined)
      children.set(event.child.agentId, undefined)
    if (event.type === 'call.ended' && event.delivered !== undefined) {
      tell(event.delivered)
    }
    if (event.type === 'message.added' || event.type === 'run.started') event.tells?.forEach(tell)
    // What it began again later runs on.
    if (event.type === 'child.launched' && children.has(event.child.agentId))
      children.set(event.child.agentId, undefined)
  }
  return [...children].map(([agentId, told]) => ({ agentId, told }))
}

/** The entries up to the first event that does not count. */
async function* only(
  entries: AsyncIterable<LogEntry>,
  counts: (recorded: Recorded) => boolean,
): AsyncGenerator<LogEntry> {
  for await (const entry of entries) {
    if (entry.kind === 'event' && !counts(entry.recorded)) return
    yield entry
  }
}

async function* none(): AsyncGenerator<LogEntry> {}
