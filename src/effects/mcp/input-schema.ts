/**
 * The JSON Schema of a tool's input: as a model may be shown it, and as a check of what the model sends.
 *
 * One tool whose schema the Messages API refuses makes every request of an agent fail. So what it is known to
 * refuse is taken out or keeps the tool out.
 */
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import * as z from 'zod'
import { messageOf } from '../../definitions/message-of.ts'
import { wellFormed } from './text.ts'

/** A JSON Schema, or any JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

/** A schema that a model can be shown, or why there is none. */
export type ShownSchema =
  | {
      readonly kind: 'shown'
      readonly schema: JsonObject
      /** Keywords that were taken out. They are checked all the same. */
      readonly hidden: readonly string[]
    }
  | { readonly kind: 'impossible'; readonly problem: string }

const MAX_SCHEMA_CHARS = 100_000
const MAX_ISSUES = 5
/** What the API takes as names of properties. */
const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/
/** What it refuses at the top of a schema. */
const REFUSED_AT_TOP: readonly string[] = ['oneOf', 'anyOf', 'allOf']

/** The schema as it goes to a model. */
export function shownSchema(schema: JsonObject): ShownSchema {
  const length = JSON.stringify(schema).length
  if (length > MAX_SCHEMA_CHARS)
    return impossible(`its input schema has ${length} characters; at most ${MAX_SCHEMA_CHARS} are taken`)
  if (schema['type'] !== 'object') return impossible('its input schema is not of type "object"')
  const properties = schema['properties']
  const bad = Object.keys(isObject(properties) ? properties : {}).find((name) => !PROPERTY_NAME.test(name))
  if (bad !== undefined)
    return impossible(
      `its input has a property ${JSON.stringify(bad.slice(0, 80))}, a name that models cannot use`,
    )
  const hidden = REFUSED_AT_TOP.filter((keyword) => keyword in schema)
  const shown = Object.entries(schema).filter(([key]) => key !== '$schema' && !hidden.includes(key))
  return { kind: 'shown', schema: mended(Object.fromEntries(shown)), hidden }
}

/**
 * A zod schema that checks by a JSON Schema (draft 2020-12 or 7). One that cannot be compiled checks nothing but
 * that the input is an object, the server will check it; `onUnusable` is told why, once. Compiled at first use.
 */
export function checkBySchema(
  schema: JsonObject,
  onUnusable: (reason: string) => void,
): z.ZodType<Record<string, unknown>> {
  let compiled: ValidateFunction | 'unusable' | undefined
  const compile = (): ValidateFunction | 'unusable' => {
    try {
      return compileSchema(schema)
    } catch (error) {
      onUnusable(messageOf(error))
      return 'unusable'
    }
  }
  return z.looseObject({}).superRefine((input, context) => {
    compiled ??= compile()
    if (compiled === 'unusable' || compiled(input)) return
    for (const error of compiled.errors?.slice(0, MAX_ISSUES) ?? []) {
      context.addIssue({ code: 'custom', path: pathOf(error), message: problemOf(error) })
    }
  })
}

/** Formats and ids are a tool's own: each schema gets a compiler of its own. */
const COMPILER: Options = {
  strict: false,
  validateSchema: false,
  meta: false,
  allErrors: true,
  logger: false,
}

function compileSchema(schema: JsonObject): ValidateFunction {
  const isOlder = /draft-0[467]/.test(String(schema['$schema']))
  const { $schema: _, ...plain } = schema
  // Without a word on it a schema is of the newest draft, says the protocol; many servers mean draft 7.
  const compilers = isOlder ? [() => new Ajv(COMPILER), newest] : [newest, () => new Ajv(COMPILER)]
  let reason: unknown
  for (const compiler of compilers) {
    try {
      const ajv = compiler()
      addFormats.default(ajv)
      return ajv.compile(plain)
    } catch (error) {
      reason ??= error
    }
  }
  throw reason
}

const newest = (): Ajv2020 => new Ajv2020(COMPILER)

function pathOf({ instancePath, keyword, params }: ErrorObject): string[] {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const missing: unknown = keyword === 'required' ? params['missingProperty'] : undefined
  return typeof missing === 'string' ? [...path, missing] : path
}

function problemOf({ keyword, message, params }: ErrorObject): string {
  if (keyword === 'required') return 'is missing'
  if (keyword === 'additionalProperties')
    return `has no field ${JSON.stringify(params['additionalProperty'])}`
  if (keyword === 'enum') return `must be one of ${JSON.stringify(params['allowedValues'])}`
  return message ?? `breaks the rule "${keyword}"`
}

/** The same with every text, keys too, free of lone surrogates: no request may hold one. */
function mended(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [wellFormed(key), mendedValue(value)]),
  )
}

function mendedValue(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value)
  if (Array.isArray(value)) return value.map(mendedValue)
  return isObject(value) ? mended(value) : value
}

const impossible = (problem: string): ShownSchema => ({ kind: 'impossible', problem })

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
