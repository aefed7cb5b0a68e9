import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readLinearPattern } from '../../src/definitions/linear-pattern.ts'

/** Whether a pattern, which must be usable, matches; and at what cost. */
function tryPattern(source: string, text: string): { readonly isMatch: boolean; readonly steps: number } {
  const read = readLinearPattern(source)
  if (read.kind === 'unsupported') throw new Error(`${source}: ${read.why}`)
  let steps = 0
  const isMatch = read.pattern.matches(text, (more) => {
    steps += more
  })
  return { isMatch, steps }
}

describe('a linear pattern', () => {
  it.each([
    ['^[a-z]+(-[a-z]+)*$', ['abc', 'a-b-c', '-a', 'a-', '', 'xa-b!']],
    ['^\\d{4}-\\d{2}-\\d{2}$', ['2030-01-02', '2030-1-02', 'x2030-01-02', '2030-01-02\n']],
    ['^[^@]+@[^@]+\\.[^@]+$', ['a@b.c', 'a@b', '@b.c', 'a@@b.c']],
    ['foo|bar', ['a foo', 'bar', 'fo', 'oba']],
    ['^(?:a|b(?<name>c)?){2,3}?$', ['aa', 'abc', 'bcbcbc', 'a', 'aaaa']],
    ['\\bcat\\b', ['cat', 'a cat.', 'concat', 'cats']],
    ['\\Bcat', ['concat', 'cat']],
    ['^.$', ['a', '', '\n', '😀', 'ab']],
    ['^[\\]\\-x]+$', [']-x', 'y', '']],
    ['^\\u{1F600}\\x41\\u0042\\t\\/$', ['😀AB\t/', '😀AB\t']],
    ['^\\p{Lu}\\P{Lu}*$', ['Abc', 'abc', 'É', 'AB']],
    ['(a*)*$', ['aaa', 'b', '']],
    ['^(a?){3}$', ['', 'aaa', 'aaaa']],
    ['[^]', ['\n', '']],
    ['', ['', 'x']],
    ['^(|a)+$', ['', 'aa', 'b']],
  ])('%s decides as the platform does', (source, texts) => {
    for (const text of texts)
      expect([text, tryPattern(source, text).isMatch]).toEqual([text, new RegExp(source, 'u').test(text)])
  })

  const piece = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '\\w',
    '(a|b)',
    '(?:ab)',
    '^',
    '$',
    '\\b',
    '(b*)',
  )
  const quantifier = fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '{0,}', '*?')
  const source = fc
    .array(fc.tuple(piece, quantifier), { minLength: 1, maxLength: 6 })
    .map((parts) =>
      parts.map(([text, times]) => (/^(?:\^|\$|\\b)$/u.test(text) ? text : text + times)).join(''),
    )

  it('decides as the platform does, for any pattern of its kind', () => {
    fc.assert(
      fc.property(
        fc.array(source, { minLength: 1, maxLength: 3 }),
        fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n'), maxLength: 8 }),
        (sources, text) => {
          const pattern = sources.join('|')
          expect(tryPattern(pattern, text).isMatch).toBe(new RegExp(pattern, 'u').test(text))
        },
      ),
      { numRuns: 300 },
    )
  })

  it.each(['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '(.*)*x', '^(([a-z])+.)+[A-Z]([a-z])+$', 'a*a*a*a*a*b'])(
    '%s costs no more than length of pattern times length of text',
    (evil) => {
      const { steps, isMatch } = tryPattern(evil, `${'a'.repeat(2_000)}!`)
      expect(isMatch).toBe(false)
      expect(steps).toBeLessThan(2_002 * 60)
    },
  )

  it.each([
    ['(?=a)b', 'ahead or behind'],
    ['(?<!a)b', 'ahead or behind'],
    ['(a)\\1', 'back to a group'],
    ['(?<n>a)\\k<n>', 'back to a group'],
    ['((a{100}){100}){100}', 'repeats too much'],
    ['a{1000000}', 'repeats too much'],
    ['(', 'no regular expression'],
    ['\\ud83d\\ude00', 'half a character'],
    [`${'('.repeat(60)}a${')'.repeat(60)}`, 'nested too deep'],
    ['a'.repeat(501), 'longer than 500'],
  ])('%s is told apart, with the reason', (source, why) => {
    expect(readLinearPattern(source)).toMatchObject({
      kind: 'unsupported',
      why: expect.stringContaining(why),
    })
  })

  it('repeats nothing as often as it likes', () => {
    expect(tryPattern('^(?:){100000}a$', 'a').isMatch).toBe(true)
  })

  it('stops when whoever counts the steps says so', () => {
    const read = readLinearPattern('a')
    if (read.kind === 'unsupported') throw new Error(read.why)
    const stop = (): never => {
      throw new Error('enough')
    }
    expect(() => read.pattern.matches('b', stop)).toThrow('enough')
  })
})
