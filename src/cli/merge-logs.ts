/**
 * The logs of a session as one story, in the order of time. A child's log is opened when its parent's log starts
 * it and let go of at its end, so that the files open at once are those of the agents that were alive at once.
 */
import type { LogEntry } from './session-reader.ts'

/** An entry with the log that it is in. `depth` 0 is the log that the story begins with. */
export interface StoryEntry {
  readonly path: string
  readonly depth: number
  readonly entry: LogEntry
}

export interface LogSource {
  read(path: string): AsyncIterable<LogEntry>
  /** The log of a child, or undefined when there is none to read. */
  childLog(agentId: string): string | undefined
}

interface Reader {
  readonly path: string
  readonly depth: number
  readonly rest: AsyncIterator<LogEntry>
  head: LogEntry
  /** Time of the last event: what is no event has none and stands where it was found. */
  at: number
}

/** The entries of a log and of all logs that it leads to. Of two at the same time the deeper agent's is first. */
export async function* mergeLogs(path: string, source: LogSource): AsyncGenerator<StoryEntry> {
  const readers: Reader[] = []
  const open = async (log: string, depth: number): Promise<void> => {
    const rest = source.read(log)[Symbol.asyncIterator]()
    const first = await rest.next()
    if (!first.done) readers.push({ path: log, depth, rest, head: first.value, at: timeOf(first.value) ?? 0 })
  }
  try {
    await open(path, 0)
    for (let next = earliest(readers); next !== undefined; next = earliest(readers)) {
      const { head, depth } = next
      yield { path: next.path, depth, entry: head }
      const following = await next.rest.next()
      if (following.done) {
        readers.splice(readers.indexOf(next), 1)
      } else {
        next.head = following.value
        next.at = timeOf(following.value) ?? next.at
      }
      const child = childStartedBy(head)
      const log = child === undefined ? undefined : source.childLog(child)
      if (log !== undefined) await open(log, depth + 1)
    }
  } finally {
    for (const reader of readers) await reader.rest.return?.()
  }
}

const timeOf = (entry: LogEntry): number | undefined =>
  entry.kind === 'event' ? entry.recorded.at : undefined

function childStartedBy(entry: LogEntry): string | undefined {
  if (entry.kind !== 'event' || entry.recorded.event.type !== 'call.started') return undefined
  return entry.recorded.event.child?.agentId
}

function earliest(readers: readonly Reader[]): Reader | undefined {
  let best: Reader | undefined
  for (const reader of readers) {
    if (best === undefined || reader.at < best.at || (reader.at === best.at && reader.depth > best.depth))
      best = reader
  }
  return best
}
