/**
 * YAML as strict readers take it.
 *
 * Y1. No text runs code: of gray-matter's engines only that for YAML is called, and a text cannot choose another.
 * Y2. The same text gives the same answer: the engine remembers nothing. (gray-matter itself remembers what it parsed,
 *     failed parses as empty ones.)
 * Y3. Time is bounded: what its readers take more than linear time for is refused before they see it.
 */
import matter from 'gray-matter'
import * as z from 'zod'
import { isRecord, toPlainData } from './plain-data.ts'

/** What a text says, or why it is not YAML. Places are from 1, in the text. */
export type Yaml =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'broken'; readonly reason: string; readonly line?: number; readonly column?: number }

/**
 * What gray-matter reads YAML with. What it does besides is to look for fences, which we have found, and costs as
 * much again as the reading.
 */
const { parse } = z
  .object({
    yaml: z.object({ parse: z.custom<(text: string) => unknown>((it) => typeof it === 'function') }),
  })
  // Its types leave the engines out.
  .parse('engines' in matter ? matter.engines : undefined).yaml

/** Reads a text without fences. Its values are plain data. Never throws. */
export function readYaml(text: string): Yaml {
  const problem = tooExpensive(text)
  if (problem !== undefined) return { kind: 'broken', reason: problem }
  // Only an empty text is empty frontmatter; to the engine one of comments is nothing at all.
  if (isBlank(text)) return { kind: 'read', value: {} }
  try {
    const plain = toPlainData(parsed(text) ?? {})
    return plain.kind === 'plain'
      ? { kind: 'read', value: plain.value }
      : { kind: 'broken', reason: plain.reason }
  } catch (error) {
    return { kind: 'broken', ...explained(error) }
  }
}

/** Behind an empty line, where the fence would be: it makes a byte order mark a character like others. */
function parsed(text: string): unknown {
  const { stackTraceLimit } = Error
  // Where in the reader a text turned out not to be YAML tells nobody anything, and costs more than the reading.
  Error.stackTraceLimit = 0
  try {
    return parse(`\n${text}`)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Is there nothing but comments? A character that begins a line is enough to see that there is more. */
function isBlank(text: string): boolean {
  return !/(?:^|\n)[^\s#]/.test(text) && text.replace(/^\s*#[^\n]+/gm, '').trim() === ''
}

/** What JavaScript's patterns take for the end of a line. */
const LINE_END = /[\n\r\u2028\u2029]/g

function tooExpensive(text: string): string | undefined {
  // It would end the text early.
  if (text.includes('---') && /^---/m.test(text)) return 'a line within it begins with "---"'
  // Shorter than the shortest of what follows.
  if (text.length < 200) return undefined
  // `isBlank` looks for comments with a pattern that starts at each line and runs on over all blank ones.
  const blanks = text.match(/\s{200,}/g) ?? []
  if (blanks.some((run) => (run.match(LINE_END)?.length ?? 0) > 100)) return 'it has 100 blank lines in a row'
  // js-yaml reads such a number by moving all parts for each.
  if (/(?:\d:){100}/.test(text)) return 'a number in it has 100 parts'
  // Each may stand for the largest value before it.
  const aliases = text.match(/(?:^|[\s[{,:-])\*[^\s*,[\]{}]/g)?.length ?? 0
  return aliases > 100 ? 'it has more than 100 aliases' : undefined
}

function explained(error: unknown): {
  readonly reason: string
  readonly line?: number
  readonly column?: number
} {
  // js-yaml's errors have more than their type says; its message spans lines.
  const { reason, mark } = isRecord(error) ? error : {}
  const { line, column } = isRecord(mark) ? mark : {}
  return {
    reason: typeof reason === 'string' ? inPlainWords(reason) : 'it cannot be read',
    // Lines count from 0, and the empty one before the text counts.
    ...(typeof line === 'number' && { line: Math.max(1, line) }),
    ...(typeof line === 'number' && typeof column === 'number' && { column: column + 1 }),
  }
}

/** The reasons of js-yaml that tell an author little, in other words. */
function inPlainWords(reason: string): string {
  if (/^incomplete explicit mapping pair|^bad indentation of a mapping/.test(reason))
    return 'a value holds ": " and stands in no quotes, or a line is indented wrongly'
  if (/^can not read (?:a block mapping entry|an implicit mapping pair)/.test(reason))
    return 'a line begins with no key'
  return reason
}
