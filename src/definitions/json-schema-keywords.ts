/**
 * The keywords of JSON Schema, each as a reader of its argument into a check. Malformed arguments break the schema.
 */
import {
  broken,
  type Check,
  escapePointer,
  isRecord,
  type JsonRecord,
  listedSchemas,
  namedSchemas,
  PASS,
  type Place,
  type Run,
  readSchema,
  shorten,
} from './json-schema-reader.ts'
import { readLinearPattern } from './linear-pattern.ts'

/** Keywords that are known and not checked; `format` is an annotation by the standard. */
export const NOT_SUPPORTED: ReadonlySet<string> = new Set([
  '$dynamicRef',
  '$recursiveRef',
  'format',
  'unevaluatedItems',
  'unevaluatedProperties',
])

/** A limit on a size: what is measured, how it is compared, how it is said. */
const limit =
  (
    measure: (value: unknown) => number | undefined,
    isRight: (size: number, bound: number) => boolean,
    say: (bound: number) => string,
  ) =>
  ({ reader, argument, pointer }: Place): Check => {
    if (typeof argument !== 'number') return broken(reader, pointer, 'has to be a number')
    return (value, at, run) => {
      const size = measure(value)
      if (size !== undefined && !isRight(size, argument)) run.problem(at, say(argument))
    }
  }

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
const lengthOf = (value: unknown): number | undefined =>
  typeof value === 'string' ? [...value].length : undefined
const itemsOf = (value: unknown): number | undefined => (Array.isArray(value) ? value.length : undefined)
const keysOf = (value: unknown): number | undefined =>
  isRecord(value) ? Object.keys(value).length : undefined

const atLeast = (size: number, bound: number): boolean => size >= bound
const atMost = (size: number, bound: number): boolean => size <= bound

/** For bounds that a neighbour uses: only their own form is looked at here. */
const onlyNumber = ({ reader, argument, pointer }: Place): Check =>
  typeof argument === 'number' ? PASS : broken(reader, pointer, 'has to be a number')

/** The keywords of drafts 7 and 2020-12 that are checked. */
export const KEYWORDS: ReadonlyMap<string, (place: Place) => Check> = new Map([
  // values
  ['type', readType],
  ['enum', readEnum],
  ['const', readConst],
  // numbers
  ['minimum', limit(numberOf, atLeast, (bound) => `must be at least ${bound}`)],
  ['maximum', limit(numberOf, atMost, (bound) => `must be at most ${bound}`)],
  [
    'exclusiveMinimum',
    limit(
      numberOf,
      (size, bound) => size > bound,
      (bound) => `must be more than ${bound}`,
    ),
  ],
  [
    'exclusiveMaximum',
    limit(
      numberOf,
      (size, bound) => size < bound,
      (bound) => `must be less than ${bound}`,
    ),
  ],
  ['multipleOf', limit(numberOf, isMultiple, (bound) => `must be a multiple of ${bound}`)],
  // texts
  ['minLength', limit(lengthOf, atLeast, (bound) => `must have at least ${bound} characters`)],
  ['maxLength', limit(lengthOf, atMost, (bound) => `must have at most ${bound} characters`)],
  ['pattern', readPattern],
  // lists
  ['minItems', limit(itemsOf, atLeast, (bound) => `must have at least ${bound} items`)],
  ['maxItems', limit(itemsOf, atMost, (bound) => `must have at most ${bound} items`)],
  ['uniqueItems', readUnique],
  ['items', readItems],
  ['prefixItems', readPrefix],
  ['additionalItems', readAdditionalItems],
  ['contains', readContains],
  ['minContains', onlyNumber],
  ['maxContains', onlyNumber],
  // objects
  ['minProperties', limit(keysOf, atLeast, (bound) => `must have at least ${bound} properties`)],
  ['maxProperties', limit(keysOf, atMost, (bound) => `must have at most ${bound} properties`)],
  ['required', readRequired],
  ['properties', readProperties],
  ['patternProperties', readPatternProperties],
  ['additionalProperties', readAdditionalProperties],
  ['propertyNames', readPropertyNames],
  ['dependentRequired', readDependencies],
  ['dependentSchemas', readDependencies],
  ['dependencies', readDependencies],
  // combinations
  [
    'allOf',
    (place) =>
      listedSchemas(place, (checks) => (value, at, run) => {
        for (const check of checks) check(value, at, run)
      }),
  ],
  [
    'anyOf',
    (place) => counted(place, (passed) => passed > 0, 'must fit at least one of the shapes in anyOf'),
  ],
  [
    'oneOf',
    (place) => counted(place, (passed) => passed === 1, 'must fit exactly one of the shapes in oneOf'),
  ],
  ['not', readNot],
  ['if', readIf],
  ['$ref', readRef],
  ['$defs', readDefinitions],
  ['definitions', readDefinitions],
])

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === 'string',
  array: Array.isArray,
  object: isRecord,
}

function readType({ reader, argument, pointer }: Place): Check {
  const names: readonly unknown[] = Array.isArray(argument) ? argument : [argument]
  const known = names.filter((name) => typeof name === 'string').filter((name) => Object.hasOwn(TYPES, name))
  if (known.length < names.length || names.length === 0)
    return broken(reader, pointer, `has to be of ${Object.keys(TYPES).join(', ')}`)
  return (value, at, run) => {
    if (!known.some((name) => TYPES[name]?.(value))) run.problem(at, `must be ${known.join(' or ')}`)
  }
}

function readEnum({ reader, argument, pointer }: Place): Check {
  if (!Array.isArray(argument)) return broken(reader, pointer, 'has to be a list')
  return (value, at, run) => {
    run.spend(argument.length)
    const text = run.canonical(value)
    if (!argument.some((each) => run.canonical(each) === text))
      run.problem(at, `must be one of ${shorten(argument.map((each) => JSON.stringify(each)).join(', '))}`)
  }
}

function readConst({ argument }: Place): Check {
  return (value, at, run) => {
    if (run.canonical(value) !== run.canonical(argument))
      run.problem(at, `must be ${shorten(JSON.stringify(argument))}`)
  }
}

function isMultiple(value: number, factor: number): boolean {
  const times = value / factor
  // 0.3 is three times 0.1 to everybody but the processor.
  return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times))
}

function readPattern({ reader, argument, pointer }: Place): Check {
  if (typeof argument !== 'string') return broken(reader, pointer, 'has to be a text')
  const read = readLinearPattern(argument)
  if (read.kind === 'unsupported') {
    reader.unchecked.add(`${pointer} (${read.why})`)
    return PASS
  }
  return (value, at, run) => {
    if (typeof value === 'string' && !read.pattern.matches(value, run.spend))
      run.problem(at, `must match the pattern ${shorten(argument)}`)
  }
}

function readUnique({ argument }: Place): Check {
  if (argument !== true) return PASS
  return (value, at, run) => {
    if (Array.isArray(value) && new Set(value.map(run.canonical)).size < value.length)
      run.problem(at, 'must not have the same item twice')
  }
}

/** The form of draft 7, a list of schemas, is `prefixItems` of today. */
function readItems(place: Place): Check {
  if (Array.isArray(place.argument)) return readPrefix(place)
  const { prefixItems } = place.around
  return eachItemFrom(Array.isArray(prefixItems) ? prefixItems.length : 0, place)
}

function readAdditionalItems(place: Place): Check {
  const { items } = place.around
  return Array.isArray(items) ? eachItemFrom(items.length, place) : PASS
}

function eachItemFrom(start: number, { reader, argument, pointer }: Place): Check {
  const check = readSchema(reader, argument, pointer)
  return (value, at, run) => {
    if (!Array.isArray(value)) return
    for (let i = start; i < value.length; i++) check(value[i], `${at}/${i}`, run)
  }
}

function readPrefix(place: Place): Check {
  return listedSchemas(place, (checks) => (value, at, run) => {
    if (!Array.isArray(value)) return
    for (const [i, check] of checks.slice(0, value.length).entries()) check(value[i], `${at}/${i}`, run)
  })
}

function readContains({ reader, argument, pointer, around }: Place): Check {
  const check = readSchema(reader, argument, pointer)
  const least = numberOf(around['minContains']) ?? 1
  const most = numberOf(around['maxContains']) ?? Infinity
  return (value, at, run) => {
    if (!Array.isArray(value)) return
    const found = value.filter((each, i) => run.passes(check, each, `${at}/${i}`)).length
    if (found < least || found > most)
      run.problem(
        at,
        `must contain ${least}${most === least ? '' : ` to ${most === Infinity ? 'any number of' : most}`} items of the wanted kind`,
      )
  }
}

function readRequired({ reader, argument, pointer }: Place): Check {
  if (!isListOfTexts(argument)) return broken(reader, pointer, 'has to be a list of names')
  return (value, at, run) => {
    if (!isRecord(value)) return
    run.spend(argument.length)
    for (const key of argument)
      if (!Object.hasOwn(value, key))
        run.problem(at, `must have the property ${shorten(JSON.stringify(key))}`)
  }
}

function readProperties(place: Place): Check {
  const checks = namedSchemas(place)
  return (value, at, run) => {
    if (!isRecord(value)) return
    run.spend(checks.length)
    for (const [key, check] of checks)
      if (Object.hasOwn(value, key)) check(value[key], `${at}/${escapePointer(key)}`, run)
  }
}

function readPatternProperties(place: Place): Check {
  const checks = namedSchemas(place).map(([source, check]) => ({ check, isMeant: keyPattern(place, source) }))
  return (value, at, run) => {
    if (!isRecord(value)) return
    for (const [key, inner] of Object.entries(value))
      for (const { check, isMeant } of checks)
        if (isMeant(key, run)) check(inner, `${at}/${escapePointer(key)}`, run)
  }
}

/** A pattern that cannot be used is met by no key. */
function keyPattern({ reader, pointer }: Place, source: string): (key: string, run: Run) => boolean {
  const read = readLinearPattern(source)
  if (read.kind === 'pattern') return (key, run) => read.pattern.matches(key, run.spend)
  reader.unchecked.add(`${pointer}/${escapePointer(source)} (${read.why})`)
  return () => false
}

function readAdditionalProperties({ reader, argument, pointer, around }: Place): Check {
  const check = readSchema(reader, argument, pointer)
  const known = new Set(isRecord(around['properties']) ? Object.keys(around['properties']) : [])
  const sources = isRecord(around['patternProperties']) ? Object.keys(around['patternProperties']) : []
  const reads = sources.map(readLinearPattern)
  // With a pattern that cannot be used nobody knows which properties are additional.
  if (reads.some(({ kind }) => kind === 'unsupported')) {
    reader.unchecked.add(pointer)
    return PASS
  }
  const patterns = reads.flatMap((read) => (read.kind === 'pattern' ? [read.pattern] : []))
  return (value, at, run) => {
    if (!isRecord(value)) return
    for (const [key, inner] of Object.entries(value)) {
      run.spend(1)
      if (known.has(key) || patterns.some((pattern) => pattern.matches(key, run.spend))) continue
      check(inner, `${at}/${escapePointer(key)}`, run)
    }
  }
}

function readPropertyNames({ reader, argument, pointer }: Place): Check {
  const check = readSchema(reader, argument, pointer)
  return (value, at, run) => {
    if (!isRecord(value)) return
    for (const key of Object.keys(value))
      if (!run.passes(check, key, at))
        run.problem(at, `must not have a property named ${shorten(JSON.stringify(key))}`)
  }
}

/** All three forms: a list of names that must be there too, or a schema that must hold too. */
function readDependencies({ reader, argument, pointer }: Place): Check {
  if (!isRecord(argument)) return broken(reader, pointer, 'has to be an object')
  const checks = Object.entries(argument).map(([key, needed]): readonly [string, Check] => {
    const place = { reader, argument: needed, pointer: `${pointer}/${escapePointer(key)}`, around: {} }
    return [key, Array.isArray(needed) ? readRequired(place) : readSchema(reader, needed, place.pointer)]
  })
  return (value, at, run) => {
    if (isRecord(value))
      for (const [key, check] of checks) if (Object.hasOwn(value, key)) check(value, at, run)
  }
}

function counted(place: Place, isRight: (passed: number) => boolean, message: string): Check {
  return listedSchemas(place, (checks) => (value, at, run) => {
    if (!isRight(checks.filter((check) => run.passes(check, value, at)).length)) run.problem(at, message)
  })
}

function readNot({ reader, argument, pointer }: Place): Check {
  const check = readSchema(reader, argument, pointer)
  return (value, at, run) => {
    if (run.passes(check, value, at)) run.problem(at, 'must not have the shape in not')
  }
}

function readIf({ reader, argument, pointer, around }: Place): Check {
  const condition = readSchema(reader, argument, pointer)
  const branch = (name: 'then' | 'else'): Check =>
    Object.hasOwn(around, name) ? readSchema(reader, around[name], pointer.replace(/if$/u, name)) : PASS
  const [then, otherwise] = [branch('then'), branch('else')]
  return (value, at, run) => (run.passes(condition, value, at) ? then : otherwise)(value, at, run)
}

function readDefinitions(place: Place): Check {
  namedSchemas(place)
  return PASS
}

function readRef({ reader, argument, pointer }: Place): Check {
  if (typeof argument !== 'string' || !/^#(?:\/|$)/u.test(argument))
    return broken(reader, pointer, 'has to be "#" or begin with "#/": other schemas are not fetched')
  const known = reader.targets.get(argument)
  if (known !== undefined) return (value, at, run) => known.check(value, at, run)
  const found = targetOf(reader.root, argument)
  if (found === undefined) return broken(reader, pointer, `leads to nothing: ${shorten(argument)}`)
  const target = { check: PASS }
  reader.targets.set(argument, target)
  target.check = readSchema(reader, found.value, argument)
  return (value, at, run) => target.check(value, at, run)
}

function targetOf(root: unknown, pointer: string): { readonly value: unknown } | undefined {
  let value = root
  for (const part of pointer.split('/').slice(1)) {
    const key = unescapePointer(part)
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    // Own properties only, of a value that came out of JSON.parse.
    value = (value as JsonRecord)[key]
  }
  return { value }
}

function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function unescapePointer(part: string): string {
  let decoded = part
  try {
    decoded = decodeURIComponent(part)
  } catch {
    // Not percent-encoded after all.
  }
  return decoded.replaceAll('~1', '/').replaceAll('~0', '~')
}
