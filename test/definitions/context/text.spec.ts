import { describe, expect, it } from 'vitest'
import {
  byteLength,
  cutText,
  normaliseText,
  onOneLine,
  printableLines,
  startOfText,
  withMarker,
} from '../../../src/definitions/context/text.ts'

describe('the start of a text', () => {
  it.each([
    ['abc', 2, 'ab'],
    ['abc', 3, 'abc'],
    ['aé', 2, 'a'],
    ['a😀b', 4, 'a'],
    ['a😀b', 5, 'a😀'],
    ['abc', 0, ''],
    ['abc', -5, ''],
  ])('of %j in %i bytes is %j', (text, bytes, start) => {
    expect(startOfText(text, bytes)).toBe(start)
  })
})

describe('a text that is cut', () => {
  it('says so within its bound', () => {
    const text = cutText('é'.repeat(100), 50, '[Cut]')
    expect(text).toMatch(/^é+\n\n\[Cut\]$/)
    expect(byteLength(text)).toBe(49)
  })

  it('is not touched when it fits', () => {
    expect(cutText('abc', 3, '[Cut]')).toBe('abc')
  })

  it('stays within a bound that is too small for the marker', () => {
    expect(byteLength(withMarker('abc', 4, '[Cut]'))).toBeLessThanOrEqual(4)
  })
})

it('loses byte order mark and foreign line ends', () => {
  expect(normaliseText('\ufeffa\r\nb\rc\n\r\nd\ufeff')).toBe('a\nb\nc\n\nd\ufeff')
})

it('shows control characters and keeps lines', () => {
  expect(printableLines('a\u001b[31m\rb\nc\u2028')).toBe('a\\u001b[31m\\u000db\nc\\u2028')
  expect(onOneLine(' a\n\tb\u0007 ')).toBe('a b\\u0007')
})
