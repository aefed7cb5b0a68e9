/** What a log consists of, as its readers get it. */
import type { Recorded } from '../machines/agent/events.ts'
import type { DamageReason, LineObject } from './line.ts'

/** Bytes of a file, from the first (included) to the last (excluded). */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface EventItem extends Span {
  readonly kind: 'event'
  readonly recorded: Recorded
  /** The `parentUuid` of each of its conversation lines. */
  readonly parents: readonly (string | null)[]
}

/** A line that is whole and not ours to understand: another program's, or a newer version's. Folds skip it. */
export interface ForeignItem extends Span {
  readonly kind: 'foreign'
  /** Its position; undefined when it does not count in the order of our lines. */
  readonly seq: number | undefined
  readonly line: LineObject
}

export interface DamageItem extends Span {
  readonly kind: 'damage'
  readonly reason: DamageReason
  /** What is wrong, in words. */
  readonly detail: string
  /**
   * Lines of ours that are lost for certain. 0 for what a torn write left behind, and for any damage that the
   * positions of the lines around it do not show to have been a line.
   */
  readonly missing: number
}

/** Lines of a reply that was cut off: it does not count. */
export interface AbandonedItem extends Span {
  readonly kind: 'abandoned'
  readonly lines: number
}

/** The end of a file that is no whole line, as a kill leaves it. */
export interface TornItem extends Span {
  readonly kind: 'torn'
}

export type LogItem = EventItem | ForeignItem | DamageItem | AbandonedItem | TornItem
