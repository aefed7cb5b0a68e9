/** The value of a key as it is written, for where YAML gives none or another than its author meant. */
import { indentOf } from './key-line.ts'
import { isBlockScalar, type Segment } from './segments.ts'

/**
 * The text of a plain value in which YAML sees a comment: ` #12` in prose is text. Undefined where there is none, or
 * where the value is quoted or has lines of its own, so that what YAML says holds.
 */
export function textWithHash({ lines }: Segment): string | undefined {
  const first = lines[0]?.trim() ?? ''
  if (/^["'|>&*!{[]/.test(first)) return undefined
  // What stands at column 1 is a comment, or no part of the value.
  const end = lines.findIndex((line, index) => index > 0 && line !== '' && indentOf(line) === 0)
  const own = end === -1 ? lines : lines.slice(0, end)
  return own.some((line) => /(?:^|\s)#/.test(line)) ? foldedLines(own) : undefined
}

/** The prose of a value: all its lines, without the quotes around them. */
export function proseText({ lines }: Segment): string {
  const [first = '', ...rest] = lines
  if (isBlockScalar(first)) return unindented(rest)
  // Lines of one paragraph are folded as YAML does it; at column 1 they stand as they are, examples most of all.
  const isFolded = rest.every((line) => line.trim() === '' || indentOf(line) > 0)
  const text = isFolded ? foldedLines(lines) : lines.map((line) => line.trimEnd()).join('\n')
  return unquoted(text.trim())
}

/** The one word or number of a value, without comment and quotes. Undefined where it has more lines. */
export function wordText({ lines }: Segment): string | undefined {
  const [first = '', ...rest] = lines
  if (rest.some((line) => line.trim() !== '' && !line.trimStart().startsWith('#'))) return undefined
  return unquoted(withoutComment(first))
}

/**
 * The entries of a list in any of its forms: on the line of the key, in brackets, or one on each line behind a dash.
 * Undefined where the lines are something else: what cannot be read as a whole is not read in part.
 */
export function listEntries({ lines }: Segment): string | readonly string[] | undefined {
  const [first = '', ...rest] = lines.map(withoutComment)
  const below = rest.filter((line) => line !== '')
  if (below.length === 0) return inlineEntries(first)
  if (first !== '' || below.some((line) => !/^-(?:[ \t]|$)/.test(line))) return undefined
  return filled(below.map((line) => line.slice(1)))
}

function inlineEntries(text: string): string | readonly string[] | undefined {
  if (text.startsWith('[') && text.endsWith(']')) return filled(text.slice(1, -1).split(','))
  return /^[[{&!|>]|[\]}]$/.test(text) ? undefined : text
}

const filled = (entries: readonly string[]): readonly string[] =>
  entries.map((entry) => unquoted(entry.trim())).filter((entry) => entry !== '')

/** As YAML folds plain lines: a line break is a blank, an empty line is a line break. */
function foldedLines(lines: readonly string[]): string {
  let text = ''
  let isParagraphOpen = false
  for (const line of lines) {
    const trimmed = line.trim()
    if (trimmed === '') {
      if (text !== '') text += '\n'
      isParagraphOpen = false
    } else {
      text += isParagraphOpen ? ` ${trimmed}` : trimmed
      isParagraphOpen = true
    }
  }
  return text.trim()
}

function unindented(lines: readonly string[]): string {
  const filled = lines.filter((line) => line.trim() !== '')
  const indent = filled.reduce((least, line) => Math.min(least, indentOf(line)), Number.POSITIVE_INFINITY)
  return lines
    .map((line) => line.slice(Math.min(indent, indentOf(line))).trimEnd())
    .join('\n')
    .trim()
}

function withoutComment(line: string): string {
  const trimmed = line.trim()
  if (trimmed.startsWith('"') || trimmed.startsWith("'")) return trimmed
  const comment = trimmed.search(/(?:^|\s)#/)
  return comment === -1 ? trimmed : trimmed.slice(0, comment).trim()
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', '"': '"', '\\': '\\' }

/** Takes the quotes from around a text, and the escapes that go with them. */
function unquoted(text: string): string {
  const quote = text[0]
  if (text.length < 2 || (quote !== '"' && quote !== "'") || !text.endsWith(quote)) return text
  const inner = text.slice(1, -1)
  return quote === "'"
    ? inner.replaceAll("''", "'")
    : inner.replace(/\\(["\\nt])/g, (whole, escaped: string) => ESCAPES[escaped] ?? whole)
}
