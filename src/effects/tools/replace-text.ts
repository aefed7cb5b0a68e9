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
  const source = wanted
    .split(/\r?\n/)
    .map((line) => line.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join('\\r?\\n')
  return Array.from(text.matchAll(new RegExp(source, 'g')), (match) => {
    return { start: match.index, end: match.index + match[0].length }
  })
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
  const source = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('\\s+')
  const index = new RegExp(source).exec(text)?.index
  return index === undefined ? undefined : lineNumberAt(text, index)
}
