/** The frontmatter of a skill file: YAML where it is YAML, the known keys line by line where it is not. */
import { readYaml } from '../files/read-yaml.ts'

/** What stands before the body. */
export type SkillFrontmatter =
  | { readonly kind: 'none'; readonly body: string }
  | { readonly kind: 'yaml'; readonly fields: ReadonlyMap<string, unknown>; readonly body: string }
  | {
      readonly kind: 'repaired'
      readonly fields: ReadonlyMap<string, unknown>
      readonly body: string
      /** Why it is no YAML, on one line. */
      readonly reason: string
      /** Line in the file, from 1, where that is known. */
      readonly line: number | undefined
    }

/** The keys that mean something. */
export const SKILL_KEYS = [
  'name',
  'description',
  'allowed-tools',
  'disable-model-invocation',
  'model',
] as const

/** Above this a frontmatter is not handed to the YAML parser. */
const MAX_YAML_LENGTH = 64 * 1024

/** Splits a text whose line ends are `\n` and reads the frontmatter. Never throws; runs nothing. */
export function readSkillFrontmatter(text: string): SkillFrontmatter {
  const opening = /^---[ \t]*(?:\n|$)/.exec(text)
  if (opening === null) return { kind: 'none', body: text }
  const rest = text.slice(opening[0].length)
  const closing = /^---[ \t]*$/m.exec(rest)
  if (closing === null) {
    const reason = 'the frontmatter is not closed by a line ---'
    return { kind: 'repaired', fields: readLines(firstParagraph(rest)), body: rest, reason, line: 1 }
  }
  const block = rest.slice(0, closing.index)
  const body = rest.slice(closing.index + closing[0].length).replace(/^\n/, '')
  const yaml = yamlFields(block)
  if ('fields' in yaml) return { kind: 'yaml', fields: yaml.fields, body }
  return { kind: 'repaired', fields: readLines(block), body, ...yaml }
}

type Fields =
  | { readonly fields: ReadonlyMap<string, unknown> }
  | { readonly reason: string; readonly line: number | undefined }

function yamlFields(block: string): Fields {
  if (block.length > MAX_YAML_LENGTH) return { reason: 'it is too long', line: undefined }
  if (block.trim() === '') return { fields: new Map() }
  const yaml = readYaml(block)
  // The line of the fence comes before.
  if (yaml.kind === 'broken') return { reason: yaml.reason, line: yaml.line && yaml.line + 1 }
  const { value } = yaml
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { reason: 'it is no list of keys and values', line: 2 }
  return { fields: new Map<string, unknown>(Object.entries(value)) }
}

/** A known key at the start of a line has the rest of it; a description has all lines up to the next key. */
function readLines(block: string): ReadonlyMap<string, unknown> {
  const values = new Map<string, string[]>()
  let current: string[] | undefined
  for (const line of block.split('\n')) {
    const [, key, value = ''] = KEY_LINE.exec(line) ?? []
    if (key !== undefined) {
      const lines = /^[|>][-+]?\s*$/.test(value) ? [] : [value]
      // The first of two holds, so that a line of an example cannot replace the key.
      if (!values.has(key)) values.set(key, lines)
      current = key === 'description' ? lines : undefined
    } else if (OTHER_KEY_LINE.test(line)) current = undefined
    else current?.push(line)
  }
  return new Map([...values].map(([key, lines]) => [key, unquoted(lines.join('\n').trim())]))
}

const KEY_LINE = new RegExp(`^(${SKILL_KEYS.join('|')}):(?:[ \\t]+(.*))?$`)
/** One word in lower case, as keys are and sentences are not: `license: MIT`. */
const OTHER_KEY_LINE = /^[a-z][a-z_-]{1,30}:(?:\s|$)/

function unquoted(value: string): string {
  return /^"[^"]*"$/.test(value) || /^'[^']*'$/.test(value) ? value.slice(1, -1) : value
}

const firstParagraph = (text: string): string => text.split(/\n[ \t]*\n/, 1)[0] ?? ''
