/**
 * The keys and values of frontmatter: by YAML where it is YAML, else line by line.
 *
 * F1. Both ways give the same kind of answer, so that one table of fields serves them.
 * F2. Line by line, the lines of each key are still read as YAML of their own first: one bad value does not spoil
 *     the others.
 */
import { FIELD_KINDS, type FieldName, fieldOfKey, isFieldKey } from './field-names.ts'
import { type KeyLine, readKeyLine } from './key-line.ts'
import { isRecord } from './plain-data.ts'
import { isProseWithColon, readPlainMapping } from './plain-mapping.ts'
import { readYaml, type Yaml } from './read-yaml.ts'
import { listEntries, proseText, textWithHash, wordText } from './segment-text.ts'
import { lineSegments, type Segment, yamlSegments } from './segments.ts'

/** The value of a key whose lines could not be read. */
export const UNREADABLE: unique symbol = Symbol('unreadable')

/** A key with its value. */
export interface RawField {
  /** As written. */
  readonly key: string
  /** What it means; undefined: unknown. */
  readonly field: FieldName | undefined
  /** Plain data, or `UNREADABLE`. */
  readonly value: unknown
  /** YAML reads the value otherwise, or not at all. */
  readonly isAsText: boolean
  /** Where it stands; undefined where that is not known, as in JSON. */
  readonly segment: Segment | undefined
}

/** Reading as YAML has a price for each text, however short: no agent has more keys than this. */
const MOST_READ_ALONE = 100

/** What frontmatter says. */
export type Frontmatter =
  | { readonly mode: 'strict'; readonly fields: readonly RawField[] }
  | {
      readonly mode: 'repaired'
      readonly fields: readonly RawField[]
      /** Why it is not YAML. */
      readonly reason: string
      readonly line: number
      readonly column: number
    }

/** Reads the lines between the fences. Never throws. */
export function readFrontmatter(lines: readonly string[], firstLine: number): Frontmatter {
  const found = lines.map(readKeyLine)
  const yaml = readMapping(lines, found)
  if (yaml.kind === 'read') {
    const { value } = yaml
    const keys = Object.keys(value)
    const segments = yamlSegments({ lines, found, firstLine }, new Set(keys))
    return { mode: 'strict', fields: keys.map((key) => asMeant(key, value[key], segments.get(key))) }
  }
  const { reason, line, column } = yaml
  return {
    mode: 'repaired',
    fields: lineSegments({ lines, found, firstLine }).map((segment, index) =>
      index < MOST_READ_ALONE ? fromLines(segment) : fromText(segment),
    ),
    reason,
    line: firstLine + Math.min((line ?? 1) - 1, Math.max(0, lines.length - 1)),
    column: column ?? 1,
  }
}

type Mapping =
  | { readonly kind: 'read'; readonly value: Readonly<Record<string, unknown>> }
  | Extract<Yaml, { kind: 'broken' }>

/** `found`: what each line begins with. */
function readMapping(lines: readonly string[], found: readonly (KeyLine | undefined)[]): Mapping {
  const plain = readPlainMapping(lines)
  if (plain !== undefined) return { kind: 'read', value: plain }
  const yaml = readYaml(lines.join('\n'))
  if (yaml.kind === 'broken') return yaml
  const { value } = yaml
  if (!isRecord(value)) return { kind: 'broken', reason: 'it has no keys' }
  if (lines.find((line) => line.trim() !== '')?.startsWith('{')) return { kind: 'read', value }
  // The reader goes on behind a closing quote and finds keys there: `"Use "it" when: asked"` has two for it.
  const stray = strayKey(lines, found, value)
  if (stray !== undefined) {
    const line = lines.findIndex((text) => text.includes(stray)) + 1
    return { kind: 'broken', reason: 'text stands behind a closing quote', ...(line > 0 && { line }) }
  }
  // And it looks for a closing quote until the end, over lines that are keys of their own.
  const swallowed = swallowedKey(found, value)
  if (swallowed === undefined) return { kind: 'read', value }
  return { kind: 'broken', reason: 'a quote or bracket is closed behind another key', line: swallowed }
}

/** A key that no line begins with. */
function strayKey(
  lines: readonly string[],
  found: readonly (KeyLine | undefined)[],
  value: Readonly<Record<string, unknown>>,
): string | undefined {
  const plain = new Set(found.map((line) => line?.key))
  const others = Object.keys(value).filter((key) => !plain.has(key))
  if (others.length === 0) return undefined
  const heads = new Set(lines.flatMap(lineHeads))
  return others.find((key) => !heads.has(key))
}

/** The line, from 1, of a known key beside the others that is none of those read. */
function swallowedKey(
  found: readonly (KeyLine | undefined)[],
  value: Readonly<Record<string, unknown>>,
): number | undefined {
  const indent = found.find((line) => line !== undefined)?.indent
  const index = found.findIndex(
    (line) =>
      line !== undefined &&
      line.indent === indent &&
      line.isSpaced &&
      isFieldKey(line.key) &&
      !Object.hasOwn(value, line.key),
  )
  return index === -1 ? undefined : index + 1
}

/** What may be the key of a line. */
function lineHeads(line: string): readonly string[] {
  const trimmed = line.trim()
  return [trimmed.indexOf(':'), trimmed.search(/:(?:\s|$)/)]
    .map((end) => trimmed.slice(0, Math.max(0, end)).trim())
    .map((head) => (/^(["']).*\1$/.test(head) ? head.slice(1, -1) : head))
}

/** A value that YAML gave, or its text where YAML took that for something else. */
function asMeant(key: string, value: unknown, segment: Segment | undefined): RawField {
  const field = fieldOfKey(key)
  const given: RawField = { key, field, value, isAsText: false, segment }
  if (field === undefined || segment === undefined) return given
  const asText = (text: string | undefined): RawField =>
    text === undefined || text === '' ? given : { ...given, value: text, isAsText: true }
  switch (FIELD_KINDS[field]) {
    case 'prose': {
      const whole = textWithHash(segment)
      if (whole !== undefined) return asText(whole)
      return typeof value === 'string' || value === null ? given : asText(proseText(segment))
    }
    case 'word': {
      const written = segment.lines[0]?.trim() ?? ''
      // A colour that is no comment.
      if (value === null) return /^#\w/.test(written) ? asText(written.split(/\s/)[0]) : given
      // A name that is no number and no date.
      const isPlain = typeof value !== 'object' && /^[^"'|>&*!]/.test(written)
      return isPlain ? { ...given, value: wordText(segment) ?? value } : given
    }
    case 'list':
      // `- Bash(git log: *)` is a mapping to YAML.
      return Array.isArray(value) && value.some(isRecord)
        ? { ...given, value: listEntries(segment) ?? value, isAsText: true }
        : given
    case 'nested':
      return given
  }
}

function fromLines(segment: Segment): RawField {
  const { key } = segment
  // Read as YAML it would come to the same, only later.
  if (isProseWithColon(segment.lines[0] ?? '')) return fromText(segment)
  const mapping = readPlainMapping(segment.written) ?? mappingOf(readYaml(segment.written.join('\n')))
  const isOfThisKey = Object.keys(mapping).length === 1 && Object.hasOwn(mapping, key)
  return isOfThisKey ? asMeant(key, mapping[key], segment) : fromText(segment)
}

function mappingOf(yaml: Yaml): Readonly<Record<string, unknown>> {
  return yaml.kind === 'read' && isRecord(yaml.value) ? yaml.value : {}
}

function fromText(segment: Segment): RawField {
  const { key } = segment
  const field = fieldOfKey(key)
  return { key, field, value: linesValue(field, segment), isAsText: true, segment }
}

function linesValue(field: FieldName | undefined, segment: Segment): unknown {
  switch (field === undefined ? 'prose' : FIELD_KINDS[field]) {
    case 'prose':
      return proseText(segment)
    case 'word':
      return wordText(segment) ?? UNREADABLE
    case 'list':
      return listEntries(segment) ?? UNREADABLE
    case 'nested':
      return UNREADABLE
  }
}
