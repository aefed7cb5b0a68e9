/** Frontmatter that is read without the reader of YAML: it says what that reader would have said. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isProseWithColon, readPlainMapping } from '../../../src/definitions/files/plain-mapping.ts'
import { readYaml } from '../../../src/definitions/files/read-yaml.ts'

describe('plain lines', () => {
  it('are keys and texts', () => {
    expect(readPlainMapping(['name: reviewer', 'tools: Read, Bash(git diff:*)  ', 'model:  sonnet'])).toEqual(
      {
        name: 'reviewer',
        tools: 'Read, Bash(git diff:*)',
        model: 'sonnet',
      },
    )
  })

  it.each([
    ['nothing', []],
    ['an empty line', ['name: a', '']],
    ['a line that goes on', ['name: a', '  b']],
    ['a comment', ['name: a # b']],
    ['a colon in prose', ['description: Use it: often']],
    ['a colon at the end', ['description: Use it:']],
    ['quotes', ['name: "a"']],
    ['a list', ['tools: [Read]']],
    ['a number', ['name: 12']],
    ['what is no text', ['background: true']],
    ['what is no text, with blanks behind it', ['model: Null  ']],
    ['a key that is no text', ['True: a']],
    ['a key that is there twice', ['name: a', 'name: b']],
    ['a prototype', ['__proto__: a']],
    ['a tab', ['name: a\tb']],
    ['a line end of JavaScript', ['name: a\u2028b']],
  ])('do not hold %s', (_, lines) => {
    expect(readPlainMapping(lines)).toBeUndefined()
  })

  const word = fc.constantFrom('a', 'Word', 'b c', 'true', 'null', 'yes', 'x1:y', '\u00e9', '\u2014')
  const sign = fc.constantFrom(
    ...[': ', ':', '#', ' #', '[', '{', '"', "'", '- ', '*a', '&a', '!', '|', '>', '%', '@', '`'],
  )
  const piece = fc.oneof(
    { weight: 6, arbitrary: word },
    { weight: 1, arbitrary: sign },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 2 }) },
  )
  const value = fc
    .tuple(
      fc.oneof({ weight: 6, arbitrary: word }, { weight: 1, arbitrary: piece }),
      fc.array(piece, { maxLength: 3 }),
    )
    .map(([first, rest]) => `${first}${rest.join('')}`.replaceAll('\n', ' '))
  const key = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('name', 'description', 'tools', 'model', 'color') },
    { weight: 1, arbitrary: fc.constantFrom('null', 'True', 'toString', 'constructor', 'x y', '<<', '1') },
    { weight: 1, arbitrary: fc.string({ maxLength: 3 }) },
  )
  const colon = fc.oneof(
    { weight: 6, arbitrary: fc.constant(': ') },
    { weight: 1, arbitrary: fc.constantFrom(':  ', ':', ' : ') },
  )
  const line = fc.tuple(key, colon, value).map((parts) => parts.join(''))

  it('mean the same to the reader of YAML', () => {
    let plain = 0
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 3 }), (lines) => {
        const mapping = readPlainMapping(lines)
        if (mapping === undefined) return
        plain += 1
        expect(readYaml(lines.join('\n'))).toEqual({ kind: 'read', value: mapping })
      }),
      { numRuns: 4_000 },
    )
    expect(plain).toBeGreaterThan(100)
  })

  it('are no YAML where prose holds a colon', () => {
    let prose = 0
    fc.assert(
      fc.property(
        value,
        fc.array(piece, { maxLength: 3 }),
        fc.array(line, { maxLength: 2 }),
        (first, rest, below) => {
          const text = ` ${first}: ${rest.join('').replaceAll('\n', ' ')}`
          if (!isProseWithColon(text)) return
          prose += 1
          expect(readYaml([`description:${text}`, ...below].join('\n')).kind).toBe('broken')
        },
      ),
      { numRuns: 2_000 },
    )
    expect(prose).toBeGreaterThan(100)
  })
})
