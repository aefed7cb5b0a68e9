/**
 * Checks a value against a JSON Schema from a file that nobody vouches for.
 *
 * Owns: reading a schema (drafts 7 and 2020-12) into checks, and running them. Does not own: where the value comes
 * from, what is said to a model. It interprets instead of generating code: a hostile schema may be exponential by
 * its references, and only an interpreter can count its steps and stop; and hosts that forbid code generation from
 * strings can use it as well.
 *
 *   S1  Reading and checking end after a bounded number of steps, whatever schema and value are.
 *   S2  Nothing is fetched: `$ref` is `#` or a pointer into the same schema.
 *   S3  A keyword that is malformed breaks the schema; one that is known and not supported is named as unchecked.
 *       Other keys are annotations, as the standard has it.
 *   S4  Only own properties count, so that no name reaches a prototype.
 */
import { KEYWORDS, NOT_SUPPORTED } from './json-schema-keywords.ts'
import { type Check, isRecord, type Reader, type Run, readSchema, shorten } from './json-schema-reader.ts'

/** A schema that can be used. */
export interface JsonSchema {
  /** The schema as JSON text. */
  readonly text: string
  /** Keywords that are not looked at, with their place, for a diagnostic. Empty: all is checked. */
  readonly unchecked: readonly string[]
  check(value: unknown): SchemaCheck
}

/** What a check comes to. `gave-up`: it would take too long; nothing is known about the value. */
export type SchemaCheck =
  | { readonly kind: 'valid' }
  /** Each with its place in the value, the first {@link MAX_PROBLEMS} of them. */
  | { readonly kind: 'invalid'; readonly problems: readonly string[] }
  | { readonly kind: 'gave-up'; readonly why: string }

/** How many problems one check names. */
export const MAX_PROBLEMS = 10

/** UTF-16 code units of a schema as JSON. */
export const MAX_SCHEMA_CHARS = 20_000

/** How deep schemas and values may be nested. */
export const MAX_JSON_DEPTH = 64

/** Values inside a report or a schema, itself included. */
const MAX_PARTS = 200_000
const MAX_SCHEMAS = 5_000
const MAX_STEPS = 2_000_000
const MAX_DEPTH = 500

/** Reads a schema, or says why it cannot be used. Never throws. */
export function readJsonSchema(
  schema: unknown,
):
  | { readonly kind: 'schema'; readonly schema: JsonSchema }
  | { readonly kind: 'broken'; readonly why: string } {
  const shape = shapeProblem(schema)
  if (shape !== undefined) return { kind: 'broken', why: shape }
  const text = textOf(schema)
  if (text === undefined) return { kind: 'broken', why: 'it is no JSON' }
  if (text.length > MAX_SCHEMA_CHARS)
    return {
      kind: 'broken',
      why: `it has ${text.length} characters as JSON, and ${MAX_SCHEMA_CHARS} are the limit`,
    }
  const reader: Reader = {
    root: JSON.parse(text),
    keywords: KEYWORDS,
    notSupported: NOT_SUPPORTED,
    targets: new Map(),
    unchecked: new Set(),
    problems: [],
    left: MAX_SCHEMAS,
  }
  const check = readSchema(reader, reader.root, '#')
  const [why] = reader.problems
  if (why !== undefined) return { kind: 'broken', why }
  return {
    kind: 'schema',
    schema: { text, unchecked: [...reader.unchecked], check: (value) => runCheck(check, value) },
  }
}

/**
 * Is a value nested too deep, or has it too many parts? Walks without recursion and stops in time: YAML can name one
 * part many times, and in circles.
 */
export function shapeProblem(value: unknown): string | undefined {
  let level: readonly unknown[] = [value]
  let parts = 0
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_JSON_DEPTH) return `it is nested deeper than ${MAX_JSON_DEPTH} levels`
    const next: unknown[] = []
    for (const each of level) {
      parts += 1
      if (parts > MAX_PARTS || next.length > MAX_PARTS) return `it has more than ${MAX_PARTS} parts`
      if (typeof each === 'object' && each !== null) for (const inner of Object.values(each)) next.push(inner)
    }
    level = next
  }
  return undefined
}

/** The JSON of a value that a host may have made; undefined when there is none. */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

class GaveUp extends Error {}

function runCheck(check: Check, value: unknown): SchemaCheck {
  const shape = shapeProblem(value)
  if (shape !== undefined) return { kind: 'invalid', problems: [shape] }
  let steps = 0
  let depth = 0
  let problems: string[] = []
  const run: Run = {
    problem: (at, message) => {
      if (problems.length < MAX_PROBLEMS) problems.push(`${at === '' ? 'the value' : shorten(at)} ${message}`)
    },
    spend: (more) => {
      steps += more
      if (steps > MAX_STEPS) throw new GaveUp('checking it takes too many steps')
    },
    enter: () => {
      depth += 1
      if (depth > MAX_DEPTH) throw new GaveUp('its schema goes too deep, or refers to itself without end')
      return () => {
        depth -= 1
      }
    },
    passes: (inner, each, at) => {
      const outside = problems
      problems = []
      inner(each, at, run)
      const isValid = problems.length === 0
      problems = outside
      return isValid
    },
    canonical: canonicalWriter((length) => run.spend(length / 100)),
  }
  try {
    check(value, '', run)
  } catch (error) {
    if (error instanceof GaveUp) return { kind: 'gave-up', why: error.message }
    throw error
  }
  return problems.length === 0 ? { kind: 'valid' } : { kind: 'invalid', problems }
}

/** Writes JSON with sorted keys, each object once. `spend` is told the length of what was written. */
function canonicalWriter(spend: (length: number) => void): (value: unknown) => string {
  const texts = new WeakMap<object, string>()
  const write = (value: unknown): string => {
    const known = typeof value === 'object' && value !== null ? texts.get(value) : undefined
    if (known !== undefined) return known
    const text = Array.isArray(value)
      ? `[${value.map(write).join(',')}]`
      : isRecord(value)
        ? `{${Object.keys(value)
            .sort()
            .map((key) => `${JSON.stringify(key)}:${write(value[key])}`)
            .join(',')}}`
        : JSON.stringify(value)
    spend(text.length)
    if (typeof value === 'object' && value !== null) texts.set(value, text)
    return text
  }
  return write
}
