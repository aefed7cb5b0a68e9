/** Regular expressions for `Grep`, in the dialect of ripgrep's default engine: no look-around, no back references. */
import { literally } from './escape.ts'
import { spellingsOf } from './stem.ts'
import type { TellingWord } from './words.ts'

/** Words that introduce a name in the languages that people write most. */
const INTRODUCERS =
  'function\\*?|class|interface|type|enum|const|let|var|val|def|defn|fn|func|fun|struct|trait|impl|module|mod|' +
  'namespace|protocol|record|union|static|sub|package|typedef|macro_rules!|#define'

/** Lines that declare a name in which one of the words is a part. */
export function declarationPattern(words: readonly TellingWord[]): string {
  return `\\b(?:${INTRODUCERS})\\s+(?:\\([^)]*\\)\\s*)?[\\w$]*?${anyOf(words)}`
}

/** Lines that begin like a method, a property or an entry whose name has one of the words as a part. */
export function memberPattern(words: readonly TellingWord[]): string {
  return `^\\s+(?:[a-z]+\\s+){0,3}['"]?[\\w$.-]*?${anyOf(words)}[\\w$.-]*['"]?\\??\\s*[(:=<]`
}

/** Lines with one of the words in any of its forms. */
export function mentionPattern(words: readonly TellingWord[]): string {
  return anyOf(words)
}

/**
 * Lines with a telling word and another one, in any order. Generous: the same word twice will do. Undefined where
 * there are not two.
 */
export function togetherPattern(words: readonly TellingWord[]): string | undefined {
  if (words.length < 2) return undefined
  const strong = words.filter((word) => !word.weak)
  const [one, any] = [anyOf(strong.length === 0 ? words : strong), anyOf(words)]
  return one === any ? `${any}.*${any}` : `${one}.*${any}|${any}.*${one}`
}

/** What is tried when nothing was found: beginnings of words, to be matched without regard to case. */
export function broadPattern(words: readonly TellingWord[]): string {
  const beginnings = words.flatMap((word) =>
    word.keys.map((key) => literally(key.slice(0, Math.max(4, key.length - 2)))),
  )
  return [...new Set(beginnings)].join('|')
}

/** Files whose name has one of the words as a part. */
export function fileNamePattern(words: readonly TellingWord[]): string | undefined {
  const names = words.flatMap((word) => {
    if (word.kind === 'path') return [basenameOf(word.text)]
    if (word.kind === 'quote') return []
    return word.keys
      .filter((key) => key.length > 2)
      .flatMap((key) => [key, `${key.charAt(0).toUpperCase()}${key.slice(1)}`])
  })
  const safe = [...new Set(names)].filter((name) => /^[\p{L}\p{N}._-]+$/u.test(name))
  if (safe.length === 0) return undefined
  // The dot keeps folders out: one that the glob names, such as node_modules, would be searched although it is ignored.
  return `**/*${safe.length === 1 ? safe[0] : `{${safe.join(',')}}`}*.*`
}

const basenameOf = (path: string): string => (path.split('/').at(-1) ?? '').replace(/\.\w+$/, '')

function anyOf(words: readonly TellingWord[]): string {
  const literal = words.flatMap((word) => (word.kind === 'word' ? [] : [exact(word)]))
  const stems = words.flatMap(stemsOf)
  const long = stems.filter((stem) => stem.length > LONG_STEM)
  const short = stems.filter((stem) => stem.length <= LONG_STEM)
  const all = [...new Set([...literal, ...inNames(long, ''), ...inNames(short, SHORT_TAIL)])]
  return `(?:${all.join('|')})`
}

/** A stem of more letters may go on as it likes; a shorter one ends soon, or `log` would find `logical`. */
const LONG_STEM = 4
const SHORT_TAIL = '[a-z]{0,4}(?:\\b|[A-Z0-9_])'

/** A dot or a dollar sign at an end is no border of a word. */
function exact({ kind, text }: TellingWord): string {
  if (kind !== 'name') return literally(text.replace(/^\.\//, ''))
  const [start, end] = [/^\w/.test(text) ? '\\b' : '', /\w$/.test(text) ? '\\b' : '']
  return `${start}${literally(text)}${end}`
}

/** A name of one part is looked for as it is; one of several parts also in its other spellings. */
function stemsOf({ kind, keys }: TellingWord): readonly string[] {
  const [key = ''] = keys
  if (keys.length === 1) return kind === 'word' ? spellingsOf(key).map(bothShores) : []
  if (kind === 'quote' || kind === 'path') return []
  const parts = keys.map((part) => spellingsOf(part).map(bothShores))
  return [
    parts.map((part) => (part.length === 1 ? part[0] : `(?:${part.join('|')})`)).join('[a-z]{0,3}[ _.-]?'),
  ]
}

/** At the start of a word or after an underscore in any case, elsewhere with a capital: `lock` is not in `block`. */
function inNames(stems: readonly string[], tail: string): readonly string[] {
  if (stems.length === 0) return []
  const capitals = stems.map((stem) =>
    stem.replace(/^(?:\(\?:)?\p{Ll}|(?<=^\(\?:[^)]*\|)\p{Ll}/gu, (at) => at.toUpperCase()),
  )
  return [`(?i:(?:\\b|_)${either(stems)})${tail}`, `${either(capitals)}${tail}`]
}

const either = (stems: readonly string[]): string =>
  stems.length === 1 ? (stems[0] ?? '') : `(?:${stems.join('|')})`

/** British and American spelling, and the other forms of a final y. */
const bothShores = (key: string): string =>
  literally(key)
    .replace(/is$/, 'i[sz]')
    .replace(/(?<=..)or$/, 'ou?r')
    .replace(/(?<=..)y$/, '(?:y|ie)')
