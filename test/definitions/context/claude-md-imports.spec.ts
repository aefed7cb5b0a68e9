import { describe, expect, it } from 'vitest'
import { importsIn, looksLikePath } from '../../../src/definitions/context/claude-md-imports.ts'

const targets = (text: string): readonly string[] => importsIn(text).map(({ target }) => target)

describe('an import', () => {
  it.each([
    ['@docs/a.md', 'docs/a.md'],
    ['See @./a.md.', './a.md'],
    ['(@a.md) no, but @b.md, yes', 'b.md'],
    ['- @~/notes.md', '~/notes.md'],
    ['@/abs/a.md!', '/abs/a.md'],
    ['@a\\ b.md c', 'a b.md'],
    ['@a.md#part-two', 'a.md'],
    ['\t@a.md', 'a.md'],
  ])('in %j is %s', (text, target) => {
    expect(targets(text)).toEqual([target])
  })

  it.each([
    'me@example.org',
    '`@a.md`',
    '`` ` @a.md ``',
    '`a\n@a.md`',
    '```\n@a.md\n```',
    '~~~md\n@a.md\n```\n@b.md\n~~~',
    '````\n```\n@a.md\n````',
    '- item\n  ```sh\n  @a.md\n  ```',
    '1. ```\n   @a.md\n   ```',
    '> ```\n> @a.md\n> ```',
    '```\nnever closed @a.md',
    '@ a',
    '@..',
    '@#x',
    `@${'a'.repeat(5000)}`,
  ])('is not in %j', (text) => {
    expect(targets(text)).toEqual([])
  })

  it.each([
    ['a lone ` and @a.md', ['a.md']],
    ['- a ` lone one\n- @a.md\n- and ` one', ['a.md']],
    ['a ` lone one\n\n@a.md\n\nand ` one', ['a.md']],
    ['```x``` @a.md\n@b.md', ['a.md', 'b.md']],
    ['`` @a.md ` @b.md', ['a.md', 'b.md']],
    ['\\` @a.md `', ['a.md']],
    ['`x` @a.md `y` @b.md', ['a.md', 'b.md']],
    ['```\n@a.md\n```\n@b.md', ['b.md']],
  ])('beside code in %j is found', (text, expected) => {
    expect(targets(text)).toEqual(expected)
  })

  it('has its line, and counts once', () => {
    expect(importsIn('@a.md\n\n```\n\n```\n x @b.md @c.md\n@a.md')).toEqual([
      { target: 'a.md', line: 1 },
      { target: 'b.md', line: 6 },
      { target: 'c.md', line: 6 },
    ])
  })
})

it.each([
  ['./a', true],
  ['~/a', true],
  ['/etc/passwd', true],
  ['docs/a.md', true],
  ['someone', false],
  ['scope/package', false],
  ['app.route', false],
])('%s is surely a path: %s', (target, expected) => {
  expect(looksLikePath(target)).toBe(expected)
})
