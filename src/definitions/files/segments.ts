/**
 * The lines of frontmatter, sorted by the key they belong to.
 *
 * For frontmatter that YAML reads they only give places and the text of a value as written. For the rest they are
 * all there is: see `lineSegments` for what begins and ends a value.
 */
import { FIELD_KINDS, fieldOfKey, isFieldKey, RESTRICTING_FIELDS } from './field-names.ts'
import type { KeyLine } from './key-line.ts'

/** A key with the lines of its value. */
export interface Segment {
  readonly key: string
  /** Of the key, in the file, from 1. */
  readonly line: number
  readonly column: number
  /** The value: what stands behind the colon, then the lines below, as they are. */
  readonly lines: readonly string[]
  /** The whole, with the key: YAML of its own where the file is not. */
  readonly written: readonly string[]
}

/** The lines between two fences. */
export interface FrontmatterLines {
  readonly lines: readonly string[]
  /** What each of them begins with. */
  readonly found: readonly (KeyLine | undefined)[]
  /** Number of the first, in the file, from 1. */
  readonly firstLine: number
}

/** Segments of frontmatter that YAML reads: its top-level keys begin lines of the same indent. */
export function yamlSegments(
  frontmatter: FrontmatterLines,
  keys: ReadonlySet<string>,
): ReadonlyMap<string, Segment> {
  let indent: number | undefined
  const segments = segmentsBy(frontmatter, (found) => {
    indent ??= found.indent
    return found.isSpaced && found.indent === indent && keys.has(found.key)
  })
  // The first of each key: what a text repeats further down is text.
  return new Map(segments.toReversed().map((segment) => [segment.key, segment]))
}

/**
 * Segments of frontmatter that is not YAML, by these rules:
 *
 * - A known key at column 1 ends the value before it. So does an indented `tools` or `disallowedTools`, except below
 *   a key that has lines of its own: taken for text, it would leave an agent with more tools than meant.
 * - An unknown key at column 1 ends it too, unless the value is prose, which may well hold `user: "…"`.
 * - The blank behind the colon may be missing behind a known key.
 */
export function lineSegments(frontmatter: FrontmatterLines): readonly Segment[] {
  return segmentsBy(frontmatter, ({ key, indent, isSpaced }, current) => {
    const field = fieldOfKey(key)
    const kind = current === undefined ? undefined : kindOf(current.key)
    if (field === undefined) return indent === 0 && isSpaced && kind !== 'prose'
    if (indent === 0) return isFieldKey(key)
    const isBelowOwnLines = kind === undefined || kind === 'nested' || isBlockScalar(current?.lines[0])
    return RESTRICTING_FIELDS.includes(field) && !isBelowOwnLines
  })
}

/** Is this the beginning of a value on lines of its own, `|` or `>`? */
export function isBlockScalar(firstLine: string | undefined): boolean {
  return /^[ \t]*[|>][-+\d]{0,2}[ \t]*(?:#.*)?$/.test(firstLine ?? '')
}

function kindOf(key: string): string {
  const field = fieldOfKey(key)
  return field === undefined ? 'unknown' : FIELD_KINDS[field]
}

interface OpenSegment {
  readonly key: string
  readonly line: number
  readonly column: number
  readonly lines: string[]
  readonly written: string[]
}

function segmentsBy(
  { lines, found, firstLine }: FrontmatterLines,
  begins: (found: KeyLine, current: OpenSegment | undefined) => boolean,
): readonly Segment[] {
  const segments: OpenSegment[] = []
  for (const [index, line] of lines.entries()) {
    const start = found[index]
    const current = segments.at(-1)
    if (start !== undefined && begins(start, current)) {
      const { key, indent, valueStart } = start
      segments.push({
        key,
        line: firstLine + index,
        column: indent + 1,
        lines: [line.slice(valueStart)],
        written: [line.slice(indent)],
      })
    } else {
      current?.lines.push(line)
      current?.written.push(line)
    }
  }
  return segments
}
