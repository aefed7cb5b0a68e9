/** The telling words of a question: what is worth a search in a code base. */
import { keyOf } from './stem.ts'
import { isStopWord, isWeakWord } from './stop-words.ts'

/**
 * Something to search for.
 * - `name`: an identifier, found as it is written
 * - `quote`: words found as they stand, such as an error message
 * - `path`: a file, or the end of its path
 * - `word`: a plain word or two, found in any of its forms
 */
export interface TellingWord {
  readonly kind: 'name' | 'quote' | 'path' | 'word'
  /** As it was written, without its quotation marks. */
  readonly text: string
  /** The stems of its parts: `['parse', 'date']`. Never empty. */
  readonly keys: readonly string[]
  /** Too common to point anywhere by itself. */
  readonly weak: boolean
}

/** More than this would find everything. */
export const MOST_WORDS = 7

/** Longer questions are logs or files pasted in: their beginning says what is asked. */
const LONGEST_QUESTION = 2_000

const PARTICLES = new Set(['over', 'up', 'down', 'out', 'off', 'back', 'away', 'apart'])
const EXTENSION =
  /\.(?:[cm]?[jt]sx?|json[lc]?|ya?ml|toml|mdx?|py|rs|go|java|kt|rb|php|cs?|cpp|hp?p?|sh|sql|css|html|txt)$/i

/**
 * The telling words of a question, the most precise first, at most {@link MOST_WORDS}: quoted text, identifiers
 * and paths as they are, then what remains of the sentence without the words that say nothing.
 */
export function tellingWords(question: string): readonly TellingWord[] {
  const found: TellingWord[] = []
  const rest = question
    .slice(0, LONGEST_QUESTION)
    .replace(
      /`([^`\n]+)`|"([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»|(?<![\p{L}\p{N}])'([^'\n]+)'(?![\p{L}\p{N}])/gu,
      (_, ...groups) => {
        const inner = groups.slice(0, 5).find((group): group is string => typeof group === 'string') ?? ''
        found.push(...quoted(inner))
        return ' ; '
      },
    )
  const tokens = withoutAsking(rest, found)
    .split(/[\s,;!?()[\]{}<>|=—–]+/)
    .map((token) => token.replace(/^[.:'’“”&*]+|[.:'’“”&*]+$/gu, ''))
  for (const [position, token] of tokens.entries()) found.push(...ofToken(token, tokens[position + 1] ?? ''))
  return most(distinct(found))
}

/** A search word from its own text; undefined where nothing in it can be searched for. */
export function tellingWord(kind: TellingWord['kind'], text: string): TellingWord | undefined {
  const keys = partsOf(text).map(keyOf)
  if (keys.length === 0) return undefined
  const weak =
    kind === 'word' && keys.length === 1 && (isWeakWord(text.toLowerCase()) || isWeakKey(keys[0] ?? ''))
  return { kind, text, keys, weak }
}

/** The parts of a name or a text, lower-case: `parseDate`, `parse_date` and `parse date` have the same two. */
export function partsOf(text: string): readonly string[] {
  return text
    .replace(/(\p{Ll}|\p{N})(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$1$2 ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== '')
}

/** Questions after a name, which may then be a word as common as `set`. */
const ASKED = [
  /\bwhat (?:does|do) ([\w$]+) (?:do|mean|return)\b/i,
  /\bwhere (?:is|are) ([\w$]+) (?:defined|declared|implemented)\b/i,
  /^\s*where (?:is|are) ([\w$]+)\s*\??\s*$/i,
  /\b(?:who|what) (?:calls|uses|invokes) ([\w$]+)\s*\??$/i,
]

/** What remains when the name that is asked for has been taken out, together with the words of asking. */
function withoutAsking(text: string, found: TellingWord[]): string {
  const asked = ASKED.map((pattern) => pattern.exec(text)).find((match) => match !== null)
  const name = asked?.[1] ?? ''
  if (asked === undefined || isStopWord(name.toLowerCase())) return text
  found.push(...words('name', name))
  return text.replace(asked[0], name)
}

function quoted(text: string): readonly TellingWord[] {
  const trimmed = text.trim().replace(/\(\)$/, '')
  if (isPath(trimmed)) return words('path', trimmed)
  return /\s/.test(trimmed) ? words('quote', trimmed) : words('name', trimmed)
}

function ofToken(token: string, next: string): readonly TellingWord[] {
  const bare = token.replace(/['’]s$/u, '').replace(/\(\)$/, '')
  if (isPath(bare)) return words('path', bare)
  if (isName(bare)) return words('name', bare.replace(/^-+|-+$/g, ''))
  const lower = bare.toLowerCase()
  if (bare.length < 2 || /^\p{N}+$/u.test(bare) || isStopWord(lower.replace('’', "'"))) return []
  return words('word', PARTICLES.has(next.toLowerCase()) ? `${lower} ${next.toLowerCase()}` : lower)
}

const isPath = (text: string): boolean =>
  !/\s/.test(text) &&
  (EXTENSION.test(text) || /^[\w@~.-]*\/?(?:[\w@.-]+\/)+[\w@.-]*$/.test(text)) &&
  /\w{2}/.test(text)

/** Inner capitals, underscores, dots, dollar signs or a flag's dashes: no English word has them. */
const isName = (text: string): boolean =>
  /^-{0,2}[\p{L}_$@#][\p{L}\p{N}_$.#:-]*$/u.test(text) &&
  (/[\p{Ll}\p{N}]\p{Lu}|\p{Lu}{2}\p{Ll}|[_$]|\p{L}[.#:]+\p{L}|^--/u.test(text) || /^\p{Lu}{4,}$/u.test(text))

function words(kind: TellingWord['kind'], text: string): readonly TellingWord[] {
  const word = tellingWord(kind, text)
  return word === undefined ? [] : [word]
}

const isWeakKey = (key: string): boolean => isWeakWord(key) || isWeakWord(`${key}e`)

/** The same word once, in its most precise form. */
function distinct(found: readonly TellingWord[]): readonly TellingWord[] {
  const seen = new Set<string>()
  return found.filter((word) => {
    const identity = word.kind === 'word' ? word.keys.join(' ') : `${word.kind} ${word.text}`
    const known = seen.has(identity)
    seen.add(identity)
    return !known
  })
}

/** Precise ones first; weak words leave first when there are too many. */
function most(found: readonly TellingWord[]): readonly TellingWord[] {
  const precise = found.filter((word) => word.kind !== 'word')
  const plain = found.filter((word) => word.kind === 'word')
  const room = Math.max(0, MOST_WORDS - precise.length)
  const kept = new Set(
    [...plain.filter((word) => !word.weak), ...plain.filter((word) => word.weak)].slice(0, room),
  )
  return [...precise.slice(0, MOST_WORDS), ...plain.filter((word) => kept.has(word))]
}
