/** Long texts and long lists by their two ends, in a bounded number of characters. */

/** UTF-16 units that a marker takes at most. */
const MARKER = 60

/**
 * The text, or its start and end with a marker between them that says how much is missing: never longer than `max`
 * (at least {@link MARKER}) UTF-16 units. Never splits a character.
 */
export function headAndTail(text: string, max: number): string {
  if (text.length <= max) return text
  const room = Math.max(0, max - MARKER)
  const head = startOf(text, Math.ceil(room / 2))
  const tail = endOf(text, Math.floor(room / 2))
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
}

/**
 * The texts, or the first and the last of them with a marker between: together never longer than `max` UTF-16 units
 * (line ends between them not counted), as long as one text is no longer than a third of that.
 */
export function firstAndLast(texts: readonly string[], max: number): readonly string[] {
  if (lengthOf(texts) <= max) return texts
  const room = max - MARKER
  const first = fitting(texts, room / 3)
  const last = fitting(texts.slice(first.length).reverse(), room - lengthOf(first)).reverse()
  return [...first, `[… ${texts.length - first.length - last.length} of ${texts.length} left out …]`, ...last]
}

function fitting(texts: readonly string[], room: number): string[] {
  let used = 0
  const found: string[] = []
  for (const text of texts) {
    used += text.length
    if (used > room) break
    found.push(text)
  }
  return found
}

const lengthOf = (texts: readonly string[]): number => texts.reduce((sum, { length }) => sum + length, 0)

function startOf(text: string, length: number): string {
  const isHalf = isHigh(text.charCodeAt(length - 1))
  return text.slice(0, isHalf ? length - 1 : length)
}

function endOf(text: string, length: number): string {
  const start = text.length - length
  return text.slice(isHigh(text.charCodeAt(start - 1)) ? start + 1 : start)
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
