/** Tables that are read in a terminal and pasted into Markdown alike. */
import type { Spread } from './statistics.ts'

export interface Table {
  readonly title: string
  /** What a reader must know to read it right. */
  readonly notes: readonly string[]
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** The table as Markdown, columns aligned: the first to the left, numbers to the right. */
export function printTable({ title, notes, columns, rows }: Table): string {
  const widths = columns.map((name, i) => Math.max(3, name.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, i) => pad(cells[i] ?? '', width, i)).join(' | ')} |`
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  const lines = [line(columns), rule, ...rows.map(line)]
  return [`### ${title}`, lines.join('\n'), ...notes].join('\n\n')
}

const pad = (cell: string, width: number, column: number): string =>
  column === 0 ? cell.padEnd(width) : cell.padStart(width)

/** `0.41 (0.44)`: the smallest, the median behind it. */
export function spread({ min, median }: Spread): string {
  return `${number(min)} (${number(median)})`
}

/** Whole numbers as they are, others with three digits that count: `12`, `1,070`, `0.0412`, `3.30`, `54.1`. */
export function number(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  // 99.96 has four digits in front once it is rounded.
  const digits = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))))
  return value.toFixed(digits)
}

/** Several numbers of one kind in one cell. */
export function list(values: readonly number[]): string {
  return values.map(number).join(' / ')
}
