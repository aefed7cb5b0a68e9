/**
 * Stemming, light enough to explain: `retries`, `retried` and `retrying` get one key, so that a question in
 * sentences meets the names in the code. Wrong keys cost nothing but a missed hit.
 */

/** Words of one family that rules of spelling do not lead to each other. The first is the key. */
const FAMILIES: readonly (readonly string[])[] = [
  ['begin', 'began', 'begun'],
  ['break', 'broke', 'broken'],
  ['build', 'built'],
  ['choose', 'chose', 'chosen', 'choice'],
  ['decide', 'decision'],
  ['divide', 'division'],
  ['find', 'found'],
  ['freeze', 'froze', 'frozen'],
  ['give', 'gave', 'given'],
  ['hold', 'held'],
  ['inherit', 'inheritance'],
  ['keep', 'kept'],
  ['know', 'knew', 'known', 'knowledge'],
  ['leave', 'left'],
  ['lose', 'lost', 'loss'],
  ['make', 'made'],
  ['permit', 'permission'],
  ['resolve', 'resolution'],
  ['run', 'ran'],
  ['send', 'sent'],
  ['split'],
  ['take', 'took', 'taken'],
  ['tell', 'told'],
  ['think', 'thought'],
  ['throw', 'threw', 'thrown'],
  ['write', 'wrote', 'written'],
]

/** What {@link keyOf} gives for all words with the same stem, lower-case. */
export function keyOf(word: string): string {
  const lower = word.toLowerCase().replace(/['’]s?$/u, '')
  return keys.get(lower) ?? keys.get(strip(lower)) ?? strip(lower)
}

/** Whether two keys mean the same word, or one is a derived form of the other: `recover` and `recovery`. */
export function sameStem(one: string, other: string): boolean {
  if (one === other) return true
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  return short.length >= 5 && long.length - short.length <= 5 && long.startsWith(short)
}

/** The spellings from which the words of a key go on, lower-case; more than one for a family. */
export function spellingsOf(key: string): readonly string[] {
  const family = FAMILIES.find((members) => strip(members[0] ?? '') === key) ?? [key]
  return [...new Set(family.map(strip))]
}

function strip(word: string): string {
  return american(silentE(ending(word)))
}

function ending(word: string): string {
  if (word.length > 4 && /(?:ies|ied)$/.test(word)) return `${word.slice(0, -3)}y`
  if (word.length > 4 && /(?:ss|x|ch|sh|zz)es$/.test(word)) return word.slice(0, -2)
  if (word.length > 3 && /[^sui]s$/.test(word)) return word.slice(0, -1)
  if (word.length > 5 && /[aeiouy].*ing$/.test(word)) return undouble(word.slice(0, -3))
  if (word.length > 4 && /[aeiouy].*[^e]ed$/.test(word)) return undouble(word.slice(0, -2))
  return word
}

/** `stopp` → `stop`, but `call`, `pass` and `buzz` stay. */
function undouble(stem: string): string {
  if (/([bdgkmnprt])\1$/.test(stem)) return stem.slice(0, -1)
  return stem.length > 5 && stem.endsWith('ll') ? stem.slice(0, -1) : stem
}

const silentE = (word: string): string => (word.length > 3 && /[^e]e$/.test(word) ? word.slice(0, -1) : word)

const american = (word: string): string =>
  word.length < 5 ? word : word.replace(/iz(?=e?$|er$|ation$)/, 'is').replace(/our$/, 'or')

const keys: ReadonlyMap<string, string> = new Map(
  FAMILIES.flatMap((members) =>
    members.flatMap((member) => [
      [member, strip(members[0] ?? '')] as const,
      [strip(member), strip(members[0] ?? '')] as const,
    ]),
  ),
)
