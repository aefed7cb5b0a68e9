/** Where things stand in a JSON text, and where it breaks: `JSON.parse` tells neither in a form to rely on. */

/** A place in a text, both from 1. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

/** What a look at a JSON text finds. */
export type JsonPlaces =
  | {
      readonly kind: 'whole'
      /** Where the value at this path of keys and indices starts; undefined for one that is not there, or too deep. */
      placeOf(path: readonly (string | number)[]): TextPlace | undefined
      /** Keys that stand more than once in one object: only the last counts. */
      readonly repeated: readonly { readonly key: string; readonly place: TextPlace }[]
    }
  | { readonly kind: 'broken'; readonly problem: string; readonly place: TextPlace }

/** Deeper values have no place of their own, nor have more of them. */
const MAX_DEPTH = 4
const MAX_PLACES = 20_000

const BLANKS = /[ \t\n\r]*/y
// Unrolled, so that a long string is one run and needs no stack.
const STRING = /"[ !#-[\]-\u{10ffff}]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[ !#-[\]-\u{10ffff}]*)*"/uy
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y
const WORD = /true|false|null/y

/** An object or list that is open. */
interface Frame {
  readonly isObject: boolean
  readonly keys: Set<string>
  key: string
  index: number
}

/** Looks through the text. Never throws; takes time in proportion to its length. */
export function jsonPlaces(text: string): JsonPlaces {
  const places = new Map<string, number>()
  const repeated: { readonly key: string; readonly at: number }[] = []
  const frames: Frame[] = []
  let at = text.startsWith('\ufeff') ? 1 : 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    at += found?.length ?? 0
    return found
  }
  const takes = (character: string): boolean => {
    const isThere = text[at] === character
    if (isThere) at += 1
    return isThere
  }
  const broken = (expected: string): JsonPlaces => ({
    kind: 'broken',
    problem: problemAt(text, at, expected),
    // What ends too early ends on its last line that says something.
    place: placeIn(text, at >= text.length ? text.trimEnd().length : at),
  })
  /** A key with its colon. */
  const takeKey = (frame: Frame): string | undefined => {
    take(BLANKS)
    const start = at
    const written = take(STRING)
    if (written === undefined) return 'a key in double quotes'
    frame.key = String(JSON.parse(written))
    if (frame.keys.has(frame.key)) repeated.push({ key: frame.key, at: start })
    frame.keys.add(frame.key)
    take(BLANKS)
    return takes(':') ? undefined : 'a colon'
  }

  for (;;) {
    take(BLANKS)
    if (frames.length <= MAX_DEPTH && places.size < MAX_PLACES) places.set(pathOf(frames), at)
    const isObject = text[at] === '{'
    if (isObject || text[at] === '[') {
      at += 1
      const frame: Frame = { isObject, keys: new Set(), key: '', index: 0 }
      take(BLANKS)
      if (!takes(isObject ? '}' : ']')) {
        const missing = isObject ? takeKey(frame) : undefined
        if (missing !== undefined) return broken(missing)
        frames.push(frame)
        continue
      }
    } else if ((take(STRING) ?? take(WORD) ?? take(NUMBER)) === undefined) return broken('a value')
    // A value has ended, and perhaps what it stands in.
    for (;;) {
      take(BLANKS)
      const frame = frames.at(-1)
      if (frame === undefined) {
        if (at < text.length) return broken('the end of the file')
        return {
          kind: 'whole',
          placeOf: (path) => {
            const offset = places.get(JSON.stringify(path))
            return offset === undefined ? undefined : placeIn(text, offset)
          },
          repeated: repeated.map(({ key, at: offset }) => ({ key, place: placeIn(text, offset) })),
        }
      }
      if (takes(frame.isObject ? '}' : ']')) {
        frames.pop()
        continue
      }
      if (!takes(',')) return broken(frame.isObject ? 'a comma or }' : 'a comma or ]')
      frame.index += 1
      const missing = frame.isObject ? takeKey(frame) : undefined
      if (missing !== undefined) return broken(missing)
      break
    }
  }
}

function pathOf(frames: readonly Frame[]): string {
  return JSON.stringify(frames.map(({ isObject, key, index }) => (isObject ? key : index)))
}

function problemAt(text: string, at: number, expected: string): string {
  if (at >= text.length) return `it ends where ${expected} is expected`
  if (/^\/[/*]/.test(text.slice(at, at + 2))) return 'it has a comment, which JSON does not know'
  if (/^[}\]]/.test(text.slice(at)) && text.slice(0, at).trimEnd().endsWith(','))
    return `there is a comma before ${text[at]}`
  if (text[at] === '"' && !expected.startsWith('a comma'))
    return 'a string is not closed, or has a character in it that must be escaped'
  return `${expected} is expected here`
}

function placeIn(text: string, at: number): TextPlace {
  const start = text.lastIndexOf('\n', at - 1) + 1
  let line = 1
  for (let next = text.indexOf('\n'); next !== -1 && next < at; next = text.indexOf('\n', next + 1)) line += 1
  return { line, column: at - start + 1 }
}
