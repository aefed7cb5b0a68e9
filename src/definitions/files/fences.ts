/**
 * Finds the frontmatter of a file: the lines between two fences at its top.
 *
 * Blank lines before the first fence, blanks behind the dashes and fences of more than three dashes are accepted.
 * What stands between two fences is frontmatter when a line of it begins with a key: a page may begin with a
 * horizontal rule.
 */
import type { AgentFileDiagnosticCode, Place } from './file-notes.ts'
import { readKeyLine } from './key-line.ts'

/** Longer frontmatter is refused: none that is meant comes near, and readers of YAML are not linear in all of it. */
export const MAX_FRONTMATTER = 65_536

/** What stands at the top of a file. */
export type Fenced =
  | {
      readonly kind: 'fenced'
      readonly lines: readonly string[]
      /** Number of the first of these lines, from 1. */
      readonly firstLine: number
      /** What follows, without blank lines around it. */
      readonly body: string
      readonly oddities: readonly Problem[]
    }
  /** No frontmatter. `hint`: something that its author may have meant as such. */
  | { readonly kind: 'none'; readonly hint: Problem | undefined }
  /** Frontmatter that cannot be read. */
  | { readonly kind: 'broken'; readonly problem: Problem }

/** What is wrong, for a diagnostic. */
export interface Problem {
  readonly code: AgentFileDiagnosticCode
  readonly message: string
  readonly place: Place
}

const FENCE = /^-{3,}[ \t]*$/

/** Looks for the frontmatter. `isKnownKey` tells unclosed frontmatter from a rule above prose. */
export function findFrontmatter(text: string, isKnownKey: (key: string) => boolean): Fenced {
  const start = firstFilledLine(text)
  if (start === undefined) return { kind: 'none', hint: undefined }
  const opening = lineAt(text, start.position)
  const language = /^---[ \t]*([A-Za-z]\w*)[ \t]*$/.exec(opening)?.[1]
  const isYaml = language === undefined || /^ya?ml$/i.test(language)
  if (!FENCE.test(opening) && language === undefined)
    return { kind: 'none', hint: misplaced(text, start, opening) }
  const between = linesToFence(text, start.position + opening.length + 1)
  const place = { line: start.line, column: 1 }
  if (between.kind === 'open') {
    if (!between.lines.some((line) => isKnownKey(readKeyLine(line)?.key ?? '')))
      return { kind: 'none', hint: undefined }
    return { kind: 'broken', problem: notClosed(between.isCut, place) }
  }
  if (!isYaml) {
    const message = `The frontmatter is said to be ${language}, and only YAML is read. Write --- alone and YAML below it.`
    return { kind: 'broken', problem: { code: 'frontmatter-language', message, place } }
  }
  const { lines, closing, bodyStart } = between
  if (!isFrontmatter(lines)) return { kind: 'none', hint: undefined }
  const closingPlace = { line: start.line + lines.length + 1, column: 1 }
  return {
    kind: 'fenced',
    lines,
    firstLine: start.line + 1,
    body: text
      .slice(bodyStart)
      .replace(/^(?:[ \t]*\n)+/, '')
      .trimEnd(),
    oddities: [
      ...(language === undefined ? oddFence(opening, 'first', place) : []),
      ...oddFence(closing, 'last', closingPlace),
    ],
  }
}

interface Start {
  readonly position: number
  readonly line: number
}

function firstFilledLine(text: string): Start | undefined {
  if (text.startsWith('-')) return { position: 0, line: 1 }
  const position = text.search(/\S/)
  if (position === -1) return undefined
  const before = text.slice(0, position)
  return { position: before.lastIndexOf('\n') + 1, line: before.split('\n').length }
}

function lineAt(text: string, position: number): string {
  const end = text.indexOf('\n', position)
  return text.slice(position, end === -1 ? text.length : end)
}

type Between =
  | {
      readonly kind: 'closed'
      readonly lines: readonly string[]
      readonly closing: string
      readonly bodyStart: number
    }
  | { readonly kind: 'open'; readonly lines: readonly string[]; readonly isCut: boolean }

function linesToFence(text: string, from: number): Between {
  const lines: string[] = []
  let documentEnd: Between | undefined
  let position = from
  while (position < text.length && position - from <= MAX_FRONTMATTER) {
    const line = lineAt(text, position)
    const bodyStart = position + line.length + 1
    if (line.startsWith('-') && FENCE.test(line)) return { kind: 'closed', lines, closing: line, bodyStart }
    // YAML's own end mark counts where there is no fence.
    if (documentEnd === undefined && line.startsWith('.') && /^\.\.\.[ \t]*$/.test(line))
      documentEnd = { kind: 'closed', lines: lines.slice(), closing: line, bodyStart }
    lines.push(line)
    position = bodyStart
  }
  return documentEnd ?? { kind: 'open', lines, isCut: position < text.length }
}

function isFrontmatter(lines: readonly string[]): boolean {
  const filled = lines.filter((line) => line.trim() !== '')
  // Empty frontmatter is frontmatter: somebody began an agent.
  if (filled.length === 0) return true
  return filled[0]?.startsWith('{') === true || filled.some((line) => readKeyLine(line) !== undefined)
}

function oddFence(fence: string, which: 'first' | 'last', place: Place): readonly Problem[] {
  const dashes = fence.trimEnd()
  if (dashes === '---') return []
  const message = `The ${which} line of the frontmatter is ${dashes.startsWith('.') ? '"..."' : `${dashes.length} dashes long`}; other programs want exactly "---".`
  return [{ code: 'fence-odd', message, place }]
}

function notClosed(isCut: boolean, place: Place): Problem {
  if (isCut) {
    const message = `The frontmatter has more than ${MAX_FRONTMATTER} characters, or no "---" ends it. Move long text below the frontmatter.`
    return { code: 'frontmatter-too-large', message, place }
  }
  const message = 'No line "---" ends the frontmatter that begins here. Add one before the prompt.'
  return { code: 'frontmatter-not-closed', message, place }
}

/** Frontmatter that is indented, or that stands behind a comment, is none. */
function misplaced(text: string, { position, line }: Start, opening: string): Problem | undefined {
  const say = (message: string): Problem => ({
    code: 'frontmatter-misplaced',
    message,
    place: { line, column: 1 },
  })
  if (/^[ \t]+-{3,}[ \t]*$/.test(opening))
    return say('The "---" of the frontmatter is indented, so this is no agent. Remove the indentation.')
  if (!opening.startsWith('<!--')) return undefined
  const end = text.indexOf('-->', position)
  if (end === -1 || !/^\s{0,200}---[ \t]{0,20}\n/.test(text.slice(end + 3, end + 300))) return undefined
  return say('The frontmatter stands behind a comment, so this is no agent. Put "---" on the first line.')
}
