/** How well a text carries a telling word. */
import { keyOf, sameStem } from './stem.ts'
import type { TellingWord } from './words.ts'
import { partsOf } from './words.ts'

/** A text made ready to be matched many times. */
export interface Matchable {
  readonly text: string
  readonly lower: string
  readonly keys: readonly string[]
}

export function matchable(text: string): Matchable {
  return { text, lower: text.toLowerCase(), keys: partsOf(text).map(keyOf) }
}

/**
 * From 0, not at all, to 1.5, exactly as it was written: 1 for a word in any of its forms and for all parts of a
 * name side by side, less for parts apart.
 */
export function carries(text: Matchable, word: TellingWord): number {
  if (word.kind === 'quote' || word.kind === 'path') {
    if (text.text.includes(word.text)) return 1.5
    if (text.lower.includes(word.text.toLowerCase())) return 1.2
    return word.kind === 'path' ? 0 : 0.5 * together(text.keys, word.keys)
  }
  if (word.kind === 'name') {
    if (standsIn(text.text, word.text)) return 1.5
    if (standsIn(text.lower, word.text.toLowerCase())) return 1.2
    return word.keys.length === 1 ? 0 : 0.7 * together(text.keys, word.keys)
  }
  return together(text.keys, word.keys)
}

/** 1 where all keys follow each other, or are written as one; a share of what is there otherwise. */
function together(keys: readonly string[], wanted: readonly string[]): number {
  const [first = ''] = wanted
  if (wanted.length === 1) return keys.some((key) => sameStem(key, first)) ? 1 : 0
  const inRow = keys.some((_, start) =>
    wanted.every((one, offset) => sameStem(keys[start + offset] ?? '', one)),
  )
  if (inRow || keys.some((key) => isJoined(key, wanted))) return 1
  const there = wanted.filter((one) => keys.some((key) => sameStem(key, one))).length
  return there === wanted.length ? 0.5 : (0.3 * there) / wanted.length
}

/** `takeover` for `take over`: stems have lost a letter or two of the whole. */
const isJoined = (key: string, [first = '', ...others]: readonly string[]): boolean =>
  key.startsWith(first) &&
  key.endsWith(others.join('')) &&
  key.length - first.length - others.join('').length <= 2

function standsIn(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const [before, after] = [text.charAt(at - 1), text.charAt(at + name.length)]
    const opens = !/[\p{L}\p{N}_$]/u.test(before) || !/^[\p{L}\p{N}_]/u.test(name)
    const closes = !/[\p{L}\p{N}_$]/u.test(after) || !/[\p{L}\p{N}_]$/u.test(name)
    if (opens && closes) return true
  }
  return false
}
