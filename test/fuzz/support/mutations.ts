/**
 * Inputs that were good once: bytes are flipped, cut, doubled, swapped and inserted, numbers and values replaced, two
 * inputs spliced. Mutated good inputs reach deeper than random bytes, which no parser lets past its first line.
 */
import fc from 'fast-check'

type Mutation = (bytes: Buffer) => Buffer

/** A place in bytes of any length, so that a mutation fits whatever it is given. */
const anyPlace = fc.nat(0xffffff)
const at = (place: number, length: number): number => (length === 0 ? 0 : place % length)

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
const nestedObjects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

/** JSON values that have broken programs. Not all are JSON. */
const NASTY_VALUES: readonly string[] = [
  ...['null', 'true', '[]', '{}', '""', '" "', '-1', '0', '-0', '0.5', '1e999', '-1e999', '1e-999'],
  ...['9007199254740991', '9007199254740992', '123456789012345678901234567890', '01', 'NaN'],
  ...['"__proto__"', '"constructor"', '"toString"', '{"__proto__":{"type":"text"}}', '{"constructor":1}'],
  ...['"\\ud800"', '"\\udc00x"', '"\\u0000"', '"\\n"', '"\\u2028"', '"a\\"}\\n{"', '[null]', '[[]]'],
  ...['"tool_use"', '"tool_result"', '"user"', '"assistant"', '"system"', '"run.started"', '"agent.ended"'],
  nested(300),
  nested(12_000),
  nestedObjects(300),
  nestedObjects(12_000),
  `"${'x'.repeat(20_000)}"`,
  `[${'1,'.repeat(5_000)}1]`,
]

/** Bytes that lines and texts are cut at, or that are no text. */
const NASTY_BYTES: readonly Buffer[] = [
  ...[
    '\n',
    '\r\n',
    '\r',
    '\0',
    '\u2028',
    '\ufeff',
    '\n\n\n',
    '"',
    '\\',
    '{',
    '}',
    ',',
    ':',
    '\n{}\n',
    '\nnull\n',
  ].map((text) => Buffer.from(text)),
  ...['data: ', 'event: error\n', '\n\n', '__proto__', '-', '../', '(', ')', '*'].map((text) =>
    Buffer.from(text),
  ),
  Buffer.from([0xff]),
  Buffer.from([0xc0, 0x80]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xf0, 0x9f]),
  Buffer.alloc(300),
]

const insertAt = (bytes: Buffer, place: number, more: Uint8Array): Buffer => {
  const from = at(place, bytes.length + 1)
  return Buffer.concat([bytes.subarray(0, from), more, bytes.subarray(from)])
}

const flip: fc.Arbitrary<Mutation> = fc.tuple(anyPlace, fc.nat(7)).map(([place, bit]) => (bytes) => {
  if (bytes.length === 0) return bytes
  const copy = Buffer.from(bytes)
  const index = at(place, copy.length)
  copy[index] = (copy[index] ?? 0) ^ (1 << bit)
  return copy
})

const cut: fc.Arbitrary<Mutation> = fc.tuple(anyPlace, fc.nat(400)).map(([place, length]) => (bytes) => {
  const from = at(place, bytes.length)
  return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + length)])
})

const truncate: fc.Arbitrary<Mutation> = anyPlace.map(
  (place) => (bytes) => bytes.subarray(0, at(place, bytes.length)),
)

const double: fc.Arbitrary<Mutation> = fc
  .tuple(anyPlace, fc.nat(2_000), anyPlace)
  .map(([place, length, to]) => (bytes) => {
    const from = at(place, bytes.length)
    return insertAt(bytes, to, bytes.subarray(from, from + length))
  })

const insert: fc.Arbitrary<Mutation> = fc
  .tuple(anyPlace, fc.oneof(fc.constantFrom(...NASTY_BYTES), fc.uint8Array({ maxLength: 12 })))
  .map(
    ([place, more]) =>
      (bytes) =>
        insertAt(bytes, place, more),
  )

/** Swaps, doubles or drops a line. */
const moveLine: fc.Arbitrary<Mutation> = fc
  .tuple(fc.constantFrom('swap', 'double', 'drop'), anyPlace, anyPlace)
  .map(([how, one, other]) => (bytes) => {
    const lines = bytes.toString('latin1').split('\n')
    const [i, j] = [at(one, lines.length), at(other, lines.length)]
    const [a = '', b = ''] = [lines[i], lines[j]]
    if (how === 'drop') lines.splice(i, 1)
    else if (how === 'double') lines.splice(j, 0, a)
    else {
      lines[i] = b
      lines[j] = a
    }
    return Buffer.from(lines.join('\n'), 'latin1')
  })

const JSON_TOKEN = /"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?|\b(?:true|false|null)\b/g

/** Puts a nasty value in place of a string, number or word: what is still JSON gets past the parser. */
const replaceValue: fc.Arbitrary<Mutation> = fc
  .tuple(
    anyPlace,
    fc.oneof(
      fc.constantFrom(...NASTY_VALUES),
      fc.nat(12).map(String),
      fc.string({ maxLength: 8 }).map((text) => JSON.stringify(text)),
    ),
  )
  .map(([place, value]) => (bytes) => {
    const text = bytes.toString('latin1')
    const tokens = [...text.matchAll(JSON_TOKEN)]
    const token = tokens[at(place, tokens.length)]
    if (token === undefined) return bytes
    return Buffer.from(
      text.slice(0, token.index) + value + text.slice(token.index + token[0].length),
      'latin1',
    )
  })

/** Puts another value of the same input in place of one: right shape, wrong meaning. */
const exchangeValues: fc.Arbitrary<Mutation> = fc.tuple(anyPlace, anyPlace).map(([to, from]) => (bytes) => {
  const text = bytes.toString('latin1')
  const tokens = [...text.matchAll(JSON_TOKEN)]
  const [target, source] = [tokens[at(to, tokens.length)], tokens[at(from, tokens.length)]]
  if (target === undefined || source === undefined) return bytes
  const rest = text.slice(target.index + target[0].length)
  return Buffer.from(text.slice(0, target.index) + source[0] + rest, 'latin1')
})

/** One step away from an input. */
const anyMutation: fc.Arbitrary<Mutation> = fc.oneof(
  flip,
  cut,
  truncate,
  double,
  insert,
  moveLine,
  { weight: 3, arbitrary: replaceValue },
  { weight: 2, arbitrary: exchangeValues },
)

/** A good input, one to four steps away; sometimes the beginning of one and the end of another. */
export function mutated(valid: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Buffer> {
  const spliced = fc
    .tuple(valid, valid, anyPlace, anyPlace)
    .map(([a, b, to, from]) =>
      Buffer.concat([a.subarray(0, at(to, a.length)), b.subarray(at(from, b.length))]),
    )
  return fc
    .tuple(
      fc.oneof({ weight: 6, arbitrary: valid }, { weight: 1, arbitrary: spliced }),
      fc.array(anyMutation, { minLength: 1, maxLength: 4 }),
    )
    .map(([bytes, mutations]) =>
      mutations.reduce<Buffer>((changed, mutate) => mutate(changed), Buffer.from(bytes)),
    )
}

/** The same for texts. What is no UTF-8 any more is read as programs read it, with U+FFFD. */
export const mutatedText = (valid: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  mutated(valid.map((text) => Buffer.from(text))).map((bytes) => bytes.toString('utf8'))

/** Strings as no caller should send them. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    ...['', ' ', '\0', 'a\0b', '\ud800', '\udc00a', '\u202e', '\ufeff', '\r\n', '__proto__', 'constructor'],
    ...[
      'toString',
      '-',
      '--',
      '-rf',
      '.',
      '..',
      '/',
      '//',
      '~',
      '~/',
      '~root',
      '*',
      '**',
      '?',
      '[',
      '{',
      '!',
      '#',
    ],
    ...[
      '[[[[',
      '{a,{b,{c',
      '(a+)+$',
      '(?:',
      '(?=a)*',
      '\\',
      'a'.repeat(300),
      '../'.repeat(60),
      '/'.repeat(500),
    ],
  ),
)

/** Any value at all, often with the right names in it. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  fc.constantFrom<unknown>(
    undefined,
    null,
    true,
    Number.NaN,
    -0,
    1e308,
    -1,
    2 ** 53,
    0.5,
    [],
    {},
    [[]],
    [''],
  ),
  fc.anything({ maxDepth: 2, withNullPrototype: true, withBigInt: true, withSparseArray: true }),
  fc.constantFrom(JSON.parse(nested(20_000)), JSON.parse(nestedObjects(20_000))),
  fc.constant(JSON.parse('{"__proto__":{"file_path":"x"}}')),
)
