import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeCall } from '../../src/cli/describe-call.ts'
import { describeError } from '../../src/cli/errors.ts'
import {
  displayWidth,
  firstLine,
  formatCount,
  formatDuration,
  forTerminal,
  oneLine,
  toJson,
} from '../../src/cli/format.ts'
import { STEERS } from './support/steers.ts'

describe('numbers', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1000, '1.0k'],
    [12_345, '12.3k'],
    [999_949, '999.9k'],
    [999_950, '1.0M'],
    [4_120_000, '4.1M'],
  ])('%i is %s', (count, shown) => {
    expect(formatCount(count)).toBe(shown)
  })

  it.each([
    [0, '0.0 s'],
    [1540, '1.5 s'],
    [9949, '9.9 s'],
    [9950, '10 s'],
    [59_499, '59 s'],
    [65_000, '1 min 05 s'],
    [7_380_000, '2 h 03 min'],
  ])('%i ms are %s', (ms, shown) => {
    expect(formatDuration(ms)).toBe(shown)
  })
})

describe('a text on one line', () => {
  it.each([
    ['a\n  b\tc', 80, 'a b c'],
    ['abcdef', 6, 'abcdef'],
    ['abcdefg', 6, 'abcde…'],
    ['日本語', 6, '日本語'],
    ['日本語x', 6, '日本…'],
    ['👩‍👩‍👧 family', 4, '👩‍👩‍👧 …'],
    ['x', 0, ''],
    ['', 5, ''],
  ])('%j in %i columns is %j', (given, width, shown) => {
    expect(oneLine(given, width)).toBe(shown)
  })

  it('never is wider than it may be and never breaks or steers', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.nat({ max: 40 }), (given, width) => {
        const shown = oneLine(given, width)
        expect(displayWidth(shown)).toBeLessThanOrEqual(width)
        expect(shown).not.toMatch(/\p{Cc}/u)
      }),
      { numRuns: 200 },
    )
  })

  it('costs little, however long the text is', () => {
    const before = performance.now()
    expect(oneLine('x'.repeat(5_000_000), 80)).toHaveLength(80)
    expect(performance.now() - before).toBeLessThan(2000)
  })
})

describe('a text for a terminal', () => {
  it('keeps its lines and loses what would steer', () => {
    expect(forTerminal('a\r\n\tb\x1b[31mred\x1b[0m\x1b]8;;http://x\x07link\x07\u202e!\x1b')).toBe(
      'a\n\tbredlink!',
    )
  })

  it('loses every mark that turns the direction of text, and every C1 control', () => {
    expect(forTerminal('a\u061cb\u200fc\u202ed\u2066e\u009b2Jf\u0085')).toBe('abcde2Jf')
  })

  it('is found by its first line that says something', () => {
    expect(firstLine('\n  \nx\ny')).toBe('x')
  })
})

describe('a value as JSON', () => {
  it('is the same value, with nothing in it that a terminal would obey', () => {
    const value = { 'k\u009b': 'a\x1b\u009b2J\u061c\u202e\x7fé😀' }
    const json = toJson(value)
    expect(JSON.parse(json)).toEqual(value)
    expect(json).toBe(String.raw`{"k\u009b":"a\u001b\u009b2J\u061c\u202e\u007fé😀"}`)
  })
})

describe('an error in words', () => {
  const error = new Error('no log \x1b[2J\u009bhere\u202e\nnor there', { cause: new Error('\x1b[31mdeep') })

  it.each([false, true])('steers no terminal (debug: %j)', (debug) => {
    const words = describeError(error, debug)
    expect(words).toMatch(/no log here\s+nor there/)
    expect(words).not.toMatch(STEERS)
  })
})

describe('a call in words', () => {
  it.each([
    ['Read', { file_path: '/project/src/a.ts' }, 'Read src/a.ts'],
    ['Read', { file_path: '/projects/a.ts' }, 'Read /projects/a.ts'],
    ['Grep', { pattern: 'lock', path: '/project/src' }, 'Grep "lock" in src'],
    ['Grep', { pattern: 'lock', path: '/project' }, 'Grep "lock" in .'],
    ['Glob', { pattern: '**/*.ts' }, 'Glob "**/*.ts"'],
    ['Bash', { command: 'ls -l', description: 'list' }, 'Bash ls -l'],
    ['Agent', { description: 'find it', prompt: 'P', subagent_type: 'Explore' }, 'Agent Explore: find it'],
    ['Other', { count: 3 }, 'Other'],
    ['Other', null, 'Other'],
    ['Other', 'text', 'Other'],
    ['Read', { file_path: '' }, 'Read'],
  ])('%s %j is %j', (name, input, words) => {
    expect(describeCall(name, input, '/project')).toBe(words)
  })
})
