/** A line that begins with a key, as frontmatter has them: `key: value`. */

/** The parts of such a line. */
export interface KeyLine {
  readonly key: string
  /** Blanks before the key. */
  readonly indent: number
  /** Where the text behind the colon begins, from 0. */
  readonly valueStart: number
  /** Is there a blank, or nothing, behind the colon? YAML wants one. */
  readonly isSpaced: boolean
}

const LONGEST_KEY = 100

/** Takes a line apart; undefined when it begins with no key. The key may stand in quotes. */
export function readKeyLine(line: string): KeyLine | undefined {
  const indent = indentOf(line)
  const quote = line[indent]
  const isQuoted = quote === '"' || quote === "'"
  const from = isQuoted ? line.indexOf(quote, indent + 1) : indent
  if (from === -1) return undefined
  const colon = line.indexOf(':', from)
  if (colon === -1 || colon - indent > LONGEST_KEY) return undefined
  const written = line.slice(indent, colon).trim()
  const key = isQuoted ? written.slice(1, -1) : written
  if (!/^[A-Za-z_$][\w$ .-]*$/.test(key)) return undefined
  const next = line[colon + 1]
  return { key, indent, valueStart: colon + 1, isSpaced: next === undefined || next === ' ' || next === '\t' }
}

/** How many blanks a line begins with. */
export function indentOf(line: string): number {
  let indent = 0
  while (line[indent] === ' ' || line[indent] === '\t') indent += 1
  return indent
}
