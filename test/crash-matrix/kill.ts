/** Where a process is killed: between two of the bytes that it brings into its logs. */

/**
 * How much of an append gets to the disk. `before`: nothing, so that what led to it was done and is not in the log.
 * `after`: all of it, and nothing followed. An object: so many of its lines, and this share of the next one.
 */
export type KillSide = 'before' | 'after' | { readonly lines: number; readonly share: number }

export interface Kill {
  /** Number of the append to a log, from 1, counted by the process that dies in it. */
  readonly at: number
  readonly when: KillSide
}

/** Where processes of one session die, one after the other. */
export type Cell = readonly Kill[]

/** All kills of a process whose appends have so many lines each: on both sides of every append, and of every line in it. */
export function killsIn(appends: readonly number[]): readonly Kill[] {
  return appends.flatMap((lines, i) => sidesOf(lines).map((when) => ({ at: i + 1, when })))
}

function sidesOf(lines: number): readonly KillSide[] {
  const between = Array.from({ length: lines - 1 }, (_, i) => ({ lines: i + 1, share: 0 }))
  return ['before', ...between, 'after']
}

/** Kills within the last line of each append. */
export function tearsIn(appends: readonly number[]): readonly Kill[] {
  return appends.map((lines, i) => ({ at: i + 1, when: { lines: lines - 1, share: TORN_SHARE } }))
}

const TORN_SHARE = 0.6

/** At most so many things, evenly spread. */
export function spread<T>(things: readonly T[], most: number): readonly T[] {
  if (things.length <= most) return things
  const step = things.length / most
  return things.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step))
}

/** The part of an append that gets to the disk. */
export function keptOf(text: string, when: KillSide): string {
  if (when === 'before') return ''
  if (when === 'after') return text
  const lines = text.split(/(?<=\n)/)
  const next = lines[when.lines] ?? ''
  return lines.slice(0, when.lines).join('') + next.slice(0, Math.floor(next.length * when.share))
}

export const linesOf = (text: string): number => text.split('\n').length - 1

/** A cell in words, as the command line takes it: `7 before, 2 after`; `7 1+0.6` for one line and 0.6 of the next. */
export const nameOfCell = (cell: Cell): string => cell.map(nameOfKill).join(', ')

const nameOfKill = ({ at, when }: Kill): string =>
  `${at} ${typeof when === 'string' ? when : `${when.lines}+${when.share}`}`

/** Reads what {@link nameOfCell} writes. Throws for anything else. */
export function cellNamed(text: string): Cell {
  return text.split(',').map((part) => {
    const [, at, side, lines, share] = /^\s*(\d+) (before|after|(\d+)\+([\d.]+))\s*$/.exec(part) ?? []
    if (side === 'before' || side === 'after') return { at: Number(at), when: side }
    if (lines === undefined) throw new Error(`"${part}" is no kill: "7 before", "7 after" or "7 1+0.6"`)
    return { at: Number(at), when: { lines: Number(lines), share: Number(share) } }
  })
}
