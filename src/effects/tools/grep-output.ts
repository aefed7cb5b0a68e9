/** From what ripgrep prints with `--null` to the lines that Grep shows. Pure. */
import { cutLine } from './lines.ts'
import type { RipgrepOutput } from './ripgrep.ts'

export type OutputMode = 'content' | 'files_with_matches' | 'count'

/** One line of a result. */
export interface GrepLine {
  /** Undefined: a line about the search, such as the `--` between groups. */
  readonly path: string | undefined
  /** The line's text, the count of a file, or nothing. */
  readonly text: string
  /** Content mode: the number as it is printed, with the mark after it: `12:` of a match, `12-` of its surroundings. */
  readonly number?: string
}

const MAX_LINE = 500

/** The lines of an output; a last line that was cut in the middle is left out. */
export function parseGrepLines({ text, cut }: RipgrepOutput, mode: OutputMode): readonly GrepLine[] {
  const end = mode === 'files_with_matches' ? '\0' : '\n'
  const lines = text.split(end)
  const last = lines.pop()
  if (last !== undefined && last !== '' && cut === undefined) lines.push(last)
  return lines.map((line) => parseLine(line.replace(/^\.\//, ''), mode))
}

function parseLine(line: string, mode: OutputMode): GrepLine {
  if (mode === 'files_with_matches') return { path: line, text: '' }
  const pathEnd = line.indexOf('\0')
  if (pathEnd < 0) return { path: undefined, text: line }
  const path = line.slice(0, pathEnd)
  const rest = line.slice(pathEnd + 1)
  const number = mode === 'content' ? /^\d+[:-]/.exec(rest)?.[0] : undefined
  if (number === undefined) return { path, text: rest }
  return { path, number, text: rest.slice(number.length).replace(/\r$/, '') }
}

/** A line as the model reads it: `path`, `path:count`, `path:line:text` (or `path-line-text` around a match). */
export function showGrepLine({ path, text, number }: GrepLine, mode: OutputMode, numbered: boolean): string {
  if (path === undefined) return text
  if (mode === 'files_with_matches') return path
  if (number === undefined) return `${path}:${text}`
  const mark = number.slice(-1)
  return `${path}${mark}${numbered ? number : ''}${cutLine(text, MAX_LINE)}`
}

const isMark = ({ path, text }: GrepLine): boolean => path === undefined && text === '--'

/**
 * The lines of files that may be shown. Of the lines without a path only the marks between groups are kept, and
 * only where there still is a group on both sides.
 */
export function linesToShow(
  lines: readonly GrepLine[],
  mayShow: (path: string) => boolean,
): readonly GrepLine[] {
  const kept: GrepLine[] = []
  let mark: GrepLine | undefined
  for (const line of lines) {
    if (isMark(line)) mark = line
    if (line.path === undefined || !mayShow(line.path)) continue
    if (mark !== undefined && kept.length > 0) kept.push(mark)
    mark = undefined
    kept.push(line)
  }
  return kept
}
