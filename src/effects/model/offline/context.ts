/** What stands around a line, as far as it was seen: the comment above it, the body below it. */
import { commentText, declaredIn, isComment } from './lines.ts'
import { pathKind } from './path-kind.ts'
import type { Candidate } from './rank.ts'
import type { SeenLine } from './tool-text.ts'

/** All lines seen of all files. */
export type SeenText = ReadonlyMap<string, ReadonlyMap<number, string>>

const LONGEST_COMMENT = 16
const LONGEST_BODY = 30

export function seenText(lines: readonly SeenLine[]): SeenText {
  const files = new Map<string, Map<number, string>>()
  for (const { path, line, text } of lines) {
    const file = files.get(path) ?? new Map<number, string>()
    files.set(path, file.set(line, text))
  }
  return files
}

/**
 * The candidate for a line. A comment speaks for what it stands above: the candidate is then the declaration
 * below it, where that was seen. In documents, and where nothing is declared below, it is the line itself.
 */
export function candidateAt(seen: SeenText, at: SeenLine): Candidate {
  if (pathKind(at.path) === 'docs') return { ...at, comment: [], body: [] }
  const subject = isComment(at.text) ? subjectOf(seen, at) : at
  if (subject === undefined) return { ...at, comment: [], body: [] }
  return { ...subject, comment: commentAbove(seen, subject), body: bodyOf(seen, subject) }
}

/** Every line that was seen to declare something that can be named from elsewhere. */
export function declarations(seen: SeenText): readonly SeenLine[] {
  return [...seen].flatMap(([path, lines]) =>
    pathKind(path) === 'docs'
      ? []
      : [...lines].flatMap(([line, text]) => {
          const kind = declaredIn(text)?.kind
          return kind === 'top' || kind === 'method' || kind === 'test' ? [{ path, line, text }] : []
        }),
  )
}

function subjectOf(seen: SeenText, comment: SeenLine): SeenLine | undefined {
  for (let line = comment.line + 1; line <= comment.line + LONGEST_COMMENT; line += 1) {
    const text = seen.get(comment.path)?.get(line)
    if (text === undefined) return undefined
    if (isComment(text) || /^\s*@\w/.test(text)) continue
    return declaredIn(text) === undefined ? undefined : { path: comment.path, line, text }
  }
  return undefined
}

function commentAbove(seen: SeenText, subject: SeenLine): readonly SeenLine[] {
  const above: SeenLine[] = []
  for (let line = subject.line - 1; line >= subject.line - LONGEST_COMMENT; line -= 1) {
    const text = seen.get(subject.path)?.get(line)
    if (text !== undefined && /^\s*@\w/.test(text)) continue
    if (text === undefined || !isComment(text)) break
    above.unshift({ path: subject.path, line, text: commentText(text) })
  }
  return above
}

/** Down to where the next thing of the same level or above begins. */
function bodyOf(seen: SeenText, subject: SeenLine): readonly string[] {
  const body: string[] = []
  const indent = indentOf(subject.text)
  for (let line = subject.line + 1; line <= subject.line + LONGEST_BODY; line += 1) {
    const text = seen.get(subject.path)?.get(line)
    if (
      text === undefined ||
      (indentOf(text) <= indent && (declaredIn(text) !== undefined || isComment(text)))
    )
      break
    body.push(text)
  }
  return body
}

const indentOf = (text: string): number => (text.trim() === '' ? Number.POSITIVE_INFINITY : text.search(/\S/))
