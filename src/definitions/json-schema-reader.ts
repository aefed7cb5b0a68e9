/**
 * A JSON Schema as checks: what a check is, and how a schema becomes one. The keywords are another file's.
 */

/** JSON of unknown shape. Only own properties count. */
export type JsonRecord = { readonly [key: string]: unknown }

/** Looks at a value; says what is wrong through the run. `at` is the value's place, as a JSON pointer. */
export type Check = (value: unknown, at: string, run: Run) => void

/** One check of one value. */
export interface Run {
  readonly problem: (at: string, message: string) => void
  /** Counts work, and throws when it is too much. */
  readonly spend: (steps: number) => void
  /** Goes one schema deeper, and throws where that has no end; returns the way back. */
  readonly enter: () => () => void
  /** Runs a check aside: does the value pass? */
  readonly passes: (check: Check, value: unknown, at: string) => boolean
  /** JSON with sorted keys: equal texts for equal values. */
  readonly canonical: (value: unknown) => string
}

/** A keyword with its argument, and where it stands. */
export interface Place {
  readonly reader: Reader
  readonly argument: unknown
  readonly pointer: string
  /** The schema around it: some keywords depend on their neighbours. */
  readonly around: JsonRecord
}

/** A schema that is being read. */
export interface Reader {
  readonly root: unknown
  readonly keywords: ReadonlyMap<string, (place: Place) => Check>
  /** Known keywords without a check. */
  readonly notSupported: ReadonlySet<string>
  /** What references lead to, by pointer; made once, so that circles close. */
  readonly targets: Map<string, { check: Check }>
  readonly unchecked: Set<string>
  readonly problems: string[]
  /** Schemas that may still be read: references can name one place in many ways. */
  left: number
}

/** Has no objection. */
export const PASS: Check = () => {}

/** Reads a schema, or a part of one, into a check. What is wrong with it goes to the reader. */
export function readSchema(reader: Reader, schema: unknown, pointer: string): Check {
  reader.left -= 1
  if (reader.left < 0) return broken(reader, pointer, 'is one schema too many')
  if (schema === true) return PASS
  if (schema === false) return (_, at, run) => run.problem(at, 'must not be there')
  if (!isRecord(schema)) return broken(reader, pointer, 'is no schema: it has to be an object, true or false')
  const checks: Check[] = []
  for (const [keyword, argument] of Object.entries(schema)) {
    const place = { reader, argument, pointer: `${pointer}/${escapePointer(keyword)}`, around: schema }
    const read = reader.keywords.get(keyword)
    if (read !== undefined) checks.push(read(place))
    else if (reader.notSupported.has(keyword)) reader.unchecked.add(place.pointer)
  }
  return (value, at, run) => {
    run.spend(1 + checks.length * (1 + sizeOf(value) / 100))
    const leave = run.enter()
    for (const check of checks) check(value, at, run)
    leave()
  }
}

/** Says why a schema cannot be used. */
export function broken(reader: Reader, pointer: string, why: string): Check {
  reader.problems.push(`${pointer} ${why}`)
  return PASS
}

/** An argument that is an object of schemas, by name. */
export function namedSchemas({ reader, argument, pointer }: Place): readonly (readonly [string, Check])[] {
  if (!isRecord(argument)) {
    broken(reader, pointer, 'has to be an object of schemas')
    return []
  }
  return Object.entries(argument).map(([key, schema]) => [
    key,
    readSchema(reader, schema, `${pointer}/${escapePointer(key)}`),
  ])
}

/** An argument that is a list of schemas, joined to one check. */
export function listedSchemas(
  { reader, argument, pointer }: Place,
  join: (checks: readonly Check[]) => Check,
): Check {
  if (!Array.isArray(argument) || argument.length === 0)
    return broken(reader, pointer, 'has to be a list of schemas')
  return join(argument.map((each, i) => readSchema(reader, each, `${pointer}/${i}`)))
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A key as a part of a JSON pointer. */
export const escapePointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** Names and values in messages come from files and models: never long. */
export function shorten(text: string): string {
  const characters = [...text.slice(0, 400)]
  return characters.length <= 120 ? text : `${characters.slice(0, 119).join('')}…`
}

/** About how much there is to look at in a value itself, without what is inside its parts. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  return isRecord(value) ? Object.keys(value).length : 1
}
