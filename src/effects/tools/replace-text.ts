/** Finding and replacing a text in a file, whatever its line ends are. Pure. */
import { lineNumberAt } from './lines.ts'

/** Where a text stands: offsets in the file, end exclusive. */
export interface Match {
  readonly start: number
  readonly end: number
}

/**
 * All places where `wanted` stands, not overlapping. In a file with CRLF line ends a line end of `wanted` matches
 * either kind: a model is shown lines, not their ends.
 */
export function findMatches(text: string, wanted: string): readonly Match[] {
  if (wanted === '') return []
  if (!text.includes('\r\n')) return findExact(text, wanted)
  // Not by a regular expression: a long text makes one that is too large.
  const matches = findExact(text.replaceAll('\r\n', '\n'), wanted.replaceAll('\r\n', '\n'))
  let feed = text.indexOf('\r\n')
  let returns = 0
  /** A place among the line feeds alone as one in the text: behind as many carriage returns as come before it. */
  const placed = (at: number): number => {
    for (; feed >= 0 && feed - returns < at; feed = text.indexOf('\r\n', feed + 2)) returns += 1
    return at + returns
  }
  return matches.map(({ start, end }) => ({ start: placed(start), end: placed(end) }))
}

function findExact(text: string, wanted: string): readonly Match[] {
  const matches: Match[] = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    matches.push({ start: at, end: at + wanted.length })
  }
  return matches
}

/** Puts `replacement` in place of every match. In a file of CRLF lines its line ends become CRLF. */
export function replaceMatches(text: string, matches: readonly Match[], replacement: string): string {
  const crlf = text.split('\r\n').length - 1
  const usesCrlf = crlf > 0 && crlf * 2 >= text.split('\n').length - 1
  const inserted = usesCrlf ? replacement.replace(/\r?\n/g, '\r\n') : replacement
  let result = ''
  let done = 0
  for (const { start, end } of matches) {
    result += text.slice(done, start) + inserted
    done = end
  }
  return result + text.slice(done)
}

/** Why a text was not found, as far as it can be guessed: a sentence for the model, or nothing. */
export function explainNoMatch(text: string, wanted: string): string {
  if (/^ *\d+\t/.test(wanted)) {
    const bare = wanted.replace(/^ *\d+\t/gm, '')
    if (findMatches(text, bare).length > 0)
      return ' Leave out the line numbers and tabs that Read puts before lines.'
  }
  const line = looseMatchLine(text, wanted)
  if (line !== undefined)
    return ` Line ${line} begins a text that differs only in white space: copy it exactly.`
  return ' Read the file again and copy the text exactly, with its indentation.'
}

/** The line at which `wanted` stands when runs of white space count as one blank. */
function looseMatchLine(text: string, wanted: string): number | undefined {
  const words = wanted.split(/\s+/).filter((word) => word !== '')
  if (words.length === 0) return undefined
  const at = text.replace(/\s+/g, ' ').indexOf(words.join(' '))
  if (at < 0) return undefined
  let dropped = 0
  for (const { 0: blanks, index } of text.matchAll(/\s+/g)) {
    if (index - dropped >= at) break
    dropped += blanks.length - 1
  }
  return lineNumberAt(text, at + dropped)
}
