/** A log as its readers beside the engine get it: ours as it stands, another program's as far as it can be told. */
import type { Recorded } from '../machines/agent/events.ts'
import type { DamageItem, LogItem } from './log-items.ts'

/** An event and where it stands in the file. */
export interface EventEntry {
  readonly kind: 'event'
  /** Byte that it begins with. */
  readonly offset: number
  /** Byte behind its last line. Absent where nobody knows files. */
  readonly to?: number
  readonly recorded: Recorded
  /** The `parentUuid` of each of its conversation lines. Absent where nobody knows lines. */
  readonly parents?: readonly (string | null)[]
  /** Of a transcript: the id of the line that it was translated from. */
  readonly source?: string
}

/**
 * Bytes that are no event. `torn` (a last line that was cut off) and `abandoned` (a reply that was) are what a
 * kill leaves; `foreign` lines are another program's or a newer version's. Only `damage` should not be there.
 */
export interface Remark {
  readonly kind: 'torn' | 'abandoned' | 'foreign' | 'damage'
  readonly offset: number
  /** What is there, in words. */
  readonly detail: string
  /** Id of a foreign line that counts in the order of ours: the next line may hang on it. */
  readonly line?: string
}

/** One thing in a log. */
export type LogEntry = EventEntry | Remark

/** An item of the decoder as an entry. */
export function entryOf(item: LogItem): LogEntry {
  const offset = item.from
  switch (item.kind) {
    case 'event':
      return { kind: 'event', offset, to: item.to, recorded: item.recorded, parents: item.parents }
    case 'foreign': {
      const { type, uuid } = item.line
      const counts = item.seq !== undefined && typeof uuid === 'string'
      return {
        kind: 'foreign',
        offset,
        detail: `a line of type ${String(type)}`,
        ...(counts && { line: uuid }),
      }
    }
    case 'abandoned':
      return { kind: 'abandoned', offset, detail: `${item.lines} line(s) of a reply that was cut off` }
    case 'torn':
      return { kind: 'torn', offset, detail: 'the last line is not whole' }
    case 'damage':
      return { kind: isLeftover(item) ? 'torn' : 'damage', offset, detail: item.detail }
  }
}

/** What a torn write left in the middle of a file that was written on: nothing of ours is missing there. */
const isLeftover = ({ missing, reason }: DamageItem): boolean => missing === 0 && reason !== 'repeat'

/** Position of the last line of an event: with it the event counts. */
export const lastLineOf = ({ seq, lines }: Recorded): number => seq + Math.max(1, lines.length) - 1
