/** Our interpreter of JSON Schema, with ajv as the one who knows. */
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type JsonSchema, MAX_PROBLEMS, readJsonSchema } from '../../src/definitions/json-schema.ts'

/** A schema that must be usable. */
function schemaOf(schema: unknown): JsonSchema {
  const read = readJsonSchema(schema)
  if (read.kind === 'broken') throw new Error(read.why)
  return read.schema
}

const isValid = (schema: unknown, value: unknown): boolean => schemaOf(schema).check(value).kind === 'valid'

/** Made from entries: written down, an object with the key `then` looks like a promise. */
const conditional = (condition: unknown, positive: unknown, negative: unknown): object =>
  Object.fromEntries([
    ['if', condition],
    ['then', positive],
    ['else', negative],
  ])

// With `allErrors`: without it ajv 8.20 lets an empty array pass a `contains` that stands behind a `prefixItems`.
const draft2020 = new Ajv2020({ strict: false, validateFormats: false, logger: false, allErrors: true })
const draft7 = new Ajv({ strict: false, validateFormats: false, logger: false })

const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  1,
  1.5,
  -3,
  10,
  '',
  'a',
  'abc',
  'ab-1',
  '😀',
  [],
  [1],
  [1, 1],
  [1, 'a', null],
  [[1], [1]],
  {},
  { a: 1 },
  { a: 'x', b: 2 },
  { b: null, c: [1] },
  { a: { a: { a: 1 } } },
  { 'x/y': 1, 'p~q': 2 },
  [{ a: 1 }, { a: 1 }],
]

describe('a check by a schema', () => {
  it.each<[string, object]>([
    ['type', { type: 'integer' }],
    ['types', { type: ['string', 'null'] }],
    ['enum', { enum: [1, 'a', { a: 1 }, [1]] }],
    ['const', { const: { b: 2, a: 'x' } }],
    ['numbers', { minimum: 0, exclusiveMaximum: 10 }],
    ['numbers, the other way', { maximum: 1, exclusiveMinimum: -3 }],
    ['multiples', { type: 'number', multipleOf: 0.5 }],
    ['texts', { minLength: 1, maxLength: 1 }],
    ['a pattern', { pattern: '^[a-z]+(-\\d)?$' }],
    ['lists', { minItems: 1, maxItems: 2, uniqueItems: true }],
    ['items', { items: { type: 'number' } }],
    ['a tuple', { prefixItems: [{ type: 'number' }, { type: 'string' }], items: false }],
    ['contains', { contains: { const: 1 }, minContains: 1, maxContains: 1 }],
    ['properties', { properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false }],
    [
      'further properties',
      {
        properties: { a: true },
        patternProperties: { '^b': { type: 'number' } },
        additionalProperties: { type: 'array' },
      },
    ],
    ['numbers of properties', { minProperties: 1, maxProperties: 1 }],
    ['names', { propertyNames: { maxLength: 1 } }],
    [
      'dependencies',
      { dependentRequired: { a: ['b'] }, dependentSchemas: { b: { properties: { b: { type: 'number' } } } } },
    ],
    ['allOf', { allOf: [{ type: 'object' }, { required: ['a'] }] }],
    ['anyOf', { anyOf: [{ type: 'string' }, { required: ['a'] }] }],
    ['oneOf', { oneOf: [{ type: 'number' }, { type: 'integer' }] }],
    ['not', { not: { type: 'object' } }],
    ['if', conditional({ type: 'number' }, { minimum: 1 }, { type: 'array' })],
    ['a reference', { $defs: { n: { type: 'number' } }, properties: { a: { $ref: '#/$defs/n' } } }],
    [
      'a reference to itself',
      { type: 'object', properties: { a: { anyOf: [{ $ref: '#' }, { type: 'number' }] } } },
    ],
    ['escaped references', { $defs: { 'x/y~z': { type: 'number' } }, items: { $ref: '#/$defs/x~1y~0z' } }],
    ['keys with slashes', { properties: { 'x/y': { type: 'string' } } }],
    ['true', {}],
  ])('by %s decides as the standard does', (_, schema) => {
    const oracle = draft2020.compile(schema)
    for (const value of VALUES)
      expect([JSON.stringify(value), isValid(schema, value)]).toEqual([JSON.stringify(value), oracle(value)])
  })

  it.each<[string, object]>([
    ['tuples', { items: [{ type: 'number' }], additionalItems: false }],
    ['definitions', { definitions: { n: { type: 'number' } }, items: { $ref: '#/definitions/n' } }],
    ['dependencies', { dependencies: { a: ['b'], b: { properties: { b: { type: 'number' } } } } }],
  ])('understands %s of draft 7', (_, schema) => {
    const oracle = draft7.compile(schema)
    for (const value of VALUES)
      expect([JSON.stringify(value), isValid(schema, value)]).toEqual([JSON.stringify(value), oracle(value)])
  })

  const keys = fc.constantFrom('a', 'b', 'c')
  const keyword = (name: string, argument: fc.Arbitrary<unknown>): fc.Arbitrary<readonly [string, unknown]> =>
    argument.map((value) => [name, value] as const)
  const { schema: anySchema } = fc.letrec((tie) => {
    const schemas = fc.array(tie('schema'), { minLength: 1, maxLength: 2 })
    const keywords = fc.oneof(
      keyword(
        'type',
        fc.constantFrom('string', 'number', 'integer', 'object', 'array', ['boolean', 'string']),
      ),
      keyword(
        'enum',
        fc.uniqueArray(fc.constantFrom(1, 'a', null, [1], { a: 1 }), { minLength: 1, maxLength: 3 }),
      ),
      keyword('minimum', fc.integer({ min: -5, max: 5 })),
      keyword('maxLength', fc.nat(3)),
      keyword('minItems', fc.nat(2)),
      keyword('uniqueItems', fc.boolean()),
      keyword('items', tie('schema')),
      keyword('prefixItems', schemas),
      keyword('contains', tie('schema')),
      keyword('properties', fc.dictionary(keys, tie('schema'), { maxKeys: 2 })),
      keyword('required', fc.uniqueArray(keys, { maxLength: 2 })),
      keyword('additionalProperties', tie('schema')),
      ...['anyOf', 'oneOf', 'allOf'].map((name) => keyword(name, schemas)),
      ...['not', 'if', 'then', 'else'].map((name) => keyword(name, tie('schema'))),
    )
    return {
      schema: fc.oneof({ maxDepth: 3 }, fc.boolean(), tie('object')),
      object: fc.uniqueArray(keywords, { maxLength: 4, selector: ([name]) => name }).map(Object.fromEntries),
    }
  })
  const fitting = fc.oneof(
    fc.constantFrom(...VALUES),
    fc.dictionary(keys, fc.constantFrom(...VALUES), { maxKeys: 3 }),
    fc.array(fc.constantFrom(...VALUES), { maxLength: 3 }),
    fc.jsonValue({ maxDepth: 3 }),
  )

  it('decides as the standard does, for any schema and value', () => {
    fc.assert(
      fc.property(anySchema, fc.array(fitting, { minLength: 1, maxLength: 5 }), (schema, values) => {
        // As it comes out of a file: plain JSON.
        const plain = JSON.parse(JSON.stringify(schema))
        const oracle = draft2020.compile(plain)
        for (const value of values) {
          const json: unknown = JSON.parse(JSON.stringify(value))
          expect(isValid(plain, json)).toBe(oracle(json))
        }
      }),
      { numRuns: 150 },
    )
  })

  it('says where and what, the first few of many', () => {
    const schema = schemaOf({
      type: 'object',
      required: ['title'],
      properties: { list: { items: { type: 'number' } }, 'a/b': { maxLength: 1 } },
    })
    expect(schema.check({ list: [1, 'x'], 'a/b': 'long' })).toEqual({
      kind: 'invalid',
      problems: [
        'the value must have the property "title"',
        '/list/1 must be number',
        '/a~1b must have at most 1 characters',
      ],
    })
    const many = schema.check({ title: '', list: Array.from({ length: 50 }, () => 'x') })
    expect(many.kind === 'invalid' && many.problems.length).toBe(MAX_PROBLEMS)
  })

  it('counts three tenths as three times one tenth', () => {
    expect(isValid({ multipleOf: 0.1 }, 0.3)).toBe(true)
    expect(isValid({ multipleOf: 0.1 }, 0.35)).toBe(false)
  })

  it('looks at own properties only', () => {
    expect(isValid({ required: ['toString'] }, {})).toBe(false)
    expect(isValid({ properties: { constructor: { type: 'string' } } }, {})).toBe(true)
    expect(readJsonSchema({ $ref: '#/constructor' })).toMatchObject({ kind: 'broken' })
    expect(
      isValid(JSON.parse('{"properties":{"__proto__":{"type":"number"}}}'), JSON.parse('{"__proto__":"x"}')),
    ).toBe(false)
    expect(isValid({ type: ['string', 'null'] }, {})).toBe(false)
    expect(readJsonSchema({ type: 'toString' })).toMatchObject({ kind: 'broken' })
  })
})

describe('a schema that cannot be used', () => {
  it.each<[unknown, string]>([
    [5, '# is no schema'],
    [null, '# is no schema'],
    [undefined, 'no JSON'],
    [{ type: 'text' }, '#/type has to be'],
    [{ type: [] }, '#/type'],
    [{ properties: [] }, '#/properties'],
    [{ properties: { 'a/b': 3 } }, '#/properties/a~1b is no schema'],
    [{ required: 'a' }, '#/required'],
    [{ enum: 'a' }, '#/enum'],
    [{ minimum: '1' }, '#/minimum'],
    [{ minContains: 'x' }, '#/minContains'],
    [{ pattern: 1 }, '#/pattern'],
    [{ anyOf: [] }, '#/anyOf'],
    [{ dependencies: 1 }, '#/dependencies'],
    [{ $ref: 'https://example.org/schema.json' }, 'not fetched'],
    [{ $ref: '#anchor' }, 'not fetched'],
    [{ $ref: 'other.json#/a' }, 'not fetched'],
    [{ $ref: '#/$defs/gone' }, 'leads to nothing'],
    [{ description: 'x'.repeat(30_000) }, 'are the limit'],
  ])('%j is told apart, with the reason', (schema, why) => {
    expect(readJsonSchema(schema)).toMatchObject({ kind: 'broken', why: expect.stringContaining(why) })
  })

  it('names what it does not check', () => {
    const schema = schemaOf({
      properties: { a: { format: 'date' }, b: { pattern: '(?=x)' } },
      patternProperties: { '(a)\\1': false },
      additionalProperties: false,
      unevaluatedProperties: false,
      'x-note': 'an annotation',
    })
    expect(schema.unchecked).toEqual([
      '#/properties/a/format',
      '#/properties/b/pattern (it looks ahead or behind)',
      '#/patternProperties/(a)\\1 (it refers back to a group)',
      '#/additionalProperties',
      '#/unevaluatedProperties',
    ])
    expect(schema.check({ a: 'no date', z: 1 })).toEqual({ kind: 'valid' })
  })
})

describe('a hostile schema', () => {
  /** Doubles the work with every level. */
  const exponential = {
    $ref: '#/$defs/d0',
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `d${i}`,
        i === 39 ? {} : { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    ),
  }

  it.each<[string, unknown, unknown]>([
    ['that refers to itself', { $ref: '#' }, 1],
    ['that refers in a circle, through nesting', { allOf: [{ not: { anyOf: [{ $ref: '#' }] } }] }, 1],
    ['that doubles its work at each level', exponential, 1],
  ])('%s is given up, not followed', (_, schema, value) => {
    expect(schemaOf(schema).check(value).kind).toBe('gave-up')
  })

  it('that is deep, wide or a circle of objects is refused in time', () => {
    let deep: object = {}
    for (let i = 0; i < 100_000; i++) deep = { not: deep }
    expect(readJsonSchema(deep)).toMatchObject({ kind: 'broken' })
    const circle: Record<string, unknown> = {}
    Object.assign(circle, { a: circle, b: circle, c: circle })
    expect(readJsonSchema({ const: circle })).toMatchObject({ kind: 'broken' })
    // As YAML aliases make it: small on paper.
    let laughs: unknown = 'ha'
    for (let i = 0; i < 30; i++) laughs = [laughs, laughs]
    expect(readJsonSchema({ enum: [laughs] })).toMatchObject({ kind: 'broken' })
    let nested: object = {}
    for (let i = 0; i < 60; i++) nested = conditional(true, nested, false)
    expect(readJsonSchema(nested).kind).toBe('schema')
    expect(readJsonSchema({ x: 10n })).toMatchObject({ kind: 'broken' })
  })

  it('with a pattern made to hang decides at once', () => {
    const schema = schemaOf({ pattern: '^(([a-z])+.)+[A-Z]([a-z])+$' })
    expect(schema.check('a'.repeat(5_000)).kind).toBe('invalid')
  })

  it('never throws, whatever it is', () => {
    const anything = fc.anything({ maxDepth: 4, withBigInt: true, withDate: true, withNullPrototype: true })
    const schemaLike = fc.dictionary(
      fc.constantFrom(
        'type',
        'properties',
        'items',
        '$ref',
        'pattern',
        'if',
        'contains',
        'dependencies',
        'x',
        '__proto__',
      ),
      anything,
    )
    fc.assert(
      fc.property(fc.oneof(anything, schemaLike), fc.jsonValue(), (schema, value) => {
        const read = readJsonSchema(schema)
        if (read.kind === 'schema') read.schema.check(value)
      }),
      { numRuns: 200 },
    )
  })
})
