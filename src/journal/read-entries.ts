/**
 * Any log as entries: ours event by event, another program's transcript translated as far as it goes.
 *
 * Our logs stream, with bounded memory. A transcript is a tree whose live branch is known at its end only, so it is
 * read whole before its first event comes out.
 */
import { readTranscript } from './foreign/transcript.ts'
import type { LogEntry } from './log-entry.ts'
import { entryOf } from './log-entry.ts'
import type { LogItem } from './log-items.ts'
import { readLog } from './read-log.ts'
import type { Storage } from './storage.ts'
import type { UpcasterTable } from './upcast.ts'

export interface ReadEntriesOptions {
  readonly upcasters?: UpcasterTable
  /** Of a transcript: the line that its live branch ends with. Default: as its own program would choose. */
  readonly leaf?: string | undefined
}

/** Everything in a log, in order. Throws a `StorageError` (`not-found`, …) when the file cannot be read. */
export async function* readEntries(
  storage: Storage,
  path: string,
  { upcasters, leaf }: ReadEntriesOptions = {},
): AsyncGenerator<LogEntry> {
  /** What came before the first thing that is ours. */
  const before: LogItem[] = []
  let isOurs = false
  for await (const item of readLog(storage, path, { ...(upcasters && { upcasters }) })) {
    if (!isOurs && !showsOurs(item)) {
      before.push(item)
      continue
    }
    if (!isOurs) for (const held of before) yield entryOf(held)
    isOurs = true
    yield entryOf(item)
  }
  if (isOurs) return
  const transcript = await readTranscript(storage, path, before, leaf)
  if (transcript === undefined) for (const held of before) yield entryOf(held)
  else yield* transcript.entries
}

/** A line with a place in our order. Damage and torn lines are anybody's. */
const showsOurs = (item: LogItem): boolean =>
  item.kind === 'event' || item.kind === 'abandoned' || (item.kind === 'foreign' && item.seq !== undefined)
