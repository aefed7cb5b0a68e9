/** From what ripgrep prints with `--null` to the lines that Grep shows. Pure. */
import { cutLine } from './lines.ts'
import { printable } from './printable.ts'
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

/** What ripgrep is told to print between groups of lines: no name and no text begins with it. */
export const GROUP_MARK = '\\x00'

/**
 * The lines of an output; a last line that was cut in the middle is left out. Read from one NUL to the next, not line
 * by line: a name may hold line ends, and must not make lines of its own.
 */
export function parseGrepLines(
  { text, cut }: Pick<RipgrepOutput, 'text' | 'cut'>,
  mode: OutputMode,
): readonly GrepLine[] {
  const lines: GrepLine[] = []
  let at = 0
  /** The text up to the next `end`, or undefined when there is none or what is there may be cut. */
  const take = (end: string, mayEndWithText: boolean): string | undefined => {
    const found = text.indexOf(end, at)
    if (found < 0 && (!mayEndWithText || cut !== undefined)) return undefined
    const taken = text.slice(at, found < 0 ? text.length : found)
    at = found < 0 ? text.length : found + end.length
    return taken
  }
  while (at < text.length) {
    if (text.startsWith('\0\n', at)) {
      lines.push({ path: undefined, text: '--' })
      at += 2
      continue
    }
    const note = BINARY_NOTE.exec(text.slice(at, at + MAX_NOTE))
    if (note?.groups !== undefined && mode === 'content') {
      lines.push({ path: bare(note.groups['path'] ?? ''), text: note.groups['note'] ?? '' })
      at += note[0].length
      continue
    }
    const path = take('\0', false)
    if (path === undefined) break
    const rest = mode === 'files_with_matches' ? '' : take('\n', true)
    if (rest === undefined) break
    lines.push(lineOf(bare(path), rest, mode))
  }
  return lines
}

const MAX_NOTE = 5000
/** The one line that ripgrep prints without NULs. */
const BINARY_NOTE =
  /^(?<path>[^\0\n]*): (?:WARNING: )?(?<note>(?:binary file matches|stopped searching binary file after match) \(found [^\0\n]*\))\n/

const bare = (path: string): string => path.replace(/^\.\//, '')

function lineOf(path: string, rest: string, mode: OutputMode): GrepLine {
  const number = mode === 'content' ? /^\d+[:-]/.exec(rest)?.[0] : undefined
  if (number === undefined) return { path, text: rest }
  return { path, number, text: rest.slice(number.length).replace(/\r$/, '') }
}

/** A line as the model reads it: `path`, `path:count`, `path:line:text` (or `path-line-text` around a match). */
export function showGrepLine(
  { path: name, text, number }: GrepLine,
  mode: OutputMode,
  numbered: boolean,
): string {
  if (name === undefined) return text
  const path = printable(name)
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
