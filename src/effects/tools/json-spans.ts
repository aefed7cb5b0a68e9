/**
 * Where the values of a JSON text stand, so that one can be replaced and every other byte stays. Pure.
 *
 * Only for texts that `JSON.parse` takes: nothing is checked here. No recursion, so that depth does not matter.
 */

/** Offsets in the text, end exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The spans of the elements of the array that begins at `start`. */
export function elementSpans(text: string, start: number): readonly Span[] {
  const spans: Span[] = []
  let at = skipBlanks(text, start + 1)
  while (text[at] !== ']') {
    const end = valueEnd(text, at)
    spans.push({ start: at, end })
    at = nextItem(text, end)
  }
  return spans
}

/** A member of an object. */
export interface Member {
  readonly key: string
  readonly keyStart: number
  readonly value: Span
}

/** The members of the object that begins at `start`, as they stand; of two with one key `JSON.parse` takes the last. */
export function members(text: string, start: number): readonly Member[] {
  const found: Member[] = []
  let at = skipBlanks(text, start + 1)
  while (text[at] !== '}') {
    const keyEnd = valueEnd(text, at)
    // The text is valid JSON, and this is a key.
    const key = JSON.parse(text.slice(at, keyEnd)) as string
    const valueStart = skipBlanks(text, skipBlanks(text, keyEnd) + 1)
    const end = valueEnd(text, valueStart)
    found.push({ key, keyStart: at, value: { start: valueStart, end } })
    at = nextItem(text, end)
  }
  return found
}

/** The span of a member's value; undefined when there is no such key. */
export function memberSpan(text: string, start: number, key: string): Span | undefined {
  return members(text, start).findLast((member) => member.key === key)?.value
}

/** The first offset from `at` on that is no blank. */
export function skipBlanks(text: string, at: number): number {
  let next = at
  while (/[ \t\r\n]/.test(text[next] ?? '')) next += 1
  return next
}

function nextItem(text: string, end: number): number {
  const at = skipBlanks(text, end)
  return text[at] === ',' ? skipBlanks(text, at + 1) : at
}

/** The end of the value that begins at `start`. */
function valueEnd(text: string, start: number): number {
  let depth = 0
  let at = start
  do {
    const character = text[at]
    if (character === '"') at = stringEnd(text, at)
    else {
      if (character === '{' || character === '[') depth += 1
      else if (character === '}' || character === ']') depth -= 1
      at += 1
    }
    // A number, or one of the three words.
    if (depth === 0 && character !== undefined && /[-\w]/.test(character)) {
      while (/[-+.\w]/.test(text[at] ?? '')) at += 1
    }
  } while (depth > 0 && at < text.length)
  return at
}

function stringEnd(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}
