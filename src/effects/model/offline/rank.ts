/**
 * Which of many lines answers best.
 *
 * A line is worth what it carries of the telling words: most in the name that it declares, then in its text, in
 * the comment above it, in the body below it and in the path of its file; rare words more than common ones, and
 * several words together more than the same words apart.
 */
import type { Angle } from './angle.ts'
import type { Declared } from './lines.ts'
import { declaredIn, isComment, isFunction, isImport } from './lines.ts'
import { carries, type Matchable, matchable } from './match.ts'
import type { PathKind } from './path-kind.ts'
import { pathKind } from './path-kind.ts'
import type { SeenLine } from './tool-text.ts'
import type { TellingWord } from './words.ts'
import { partsOf } from './words.ts'

/** What is looked for, and from which side. */
export interface Sight {
  readonly words: readonly TellingWord[]
  readonly angle: Angle
  /** In how many lines each word was seen, by its text. A word that is not counted is taken for rare. */
  readonly counts?: ReadonlyMap<string, number>
  /** What kind of thing would answer. */
  readonly wanted?: Wanted | undefined
}

/** What a question asks for: something that does, something that is, or what a test says. */
export type Wanted = 'behaviour' | 'shape' | 'test'

/** A line with what was seen around it. */
export interface Candidate extends SeenLine {
  /** Comment lines right above, without their marks. */
  readonly comment: readonly SeenLine[]
  /** Lines below that belong to it. */
  readonly body: readonly string[]
}

/** A candidate that carries at least one of the words. */
export interface Hit extends SeenLine {
  readonly declared: Declared | undefined
  /** The line of its comment that carries most, or its first. */
  readonly note: SeenLine | undefined
  /** Without unit; only comparable within one sight. */
  readonly score: number
  /** The share of the words, by weight, that the line and what is around it carry: 0 to 1. */
  readonly coverage: number
}

/** What a whole word is worth in each place, and how much it counts there towards the coverage. */
const TEXT = { worth: 1.2, covers: 1 }
const COMMENT = { worth: 1.2, covers: 1 }
const BODY = { worth: 0.5, covers: 0.5 }
const FILE = { worth: 0.9, covers: 0.7 }
const FOLDER = { worth: 0.4, covers: 0.4 }
/** A word that stands in a second place proves little more. */
const AGAIN = 0.3
/** Two of the words in one name are seldom chance. */
const TOGETHER_IN_NAME = 1.5
/** What is left of a hit that carries next to nothing of the words. */
const LEAST = 0.3

const NAME_WORTH: Readonly<Record<Declared['kind'], number>> = {
  top: 3,
  method: 2.6,
  heading: 2.4,
  test: 2.2,
  member: 1.5,
  local: 0.8,
}

const PATH_WORTH: Readonly<Record<Angle, Readonly<Record<PathKind, number>>>> = {
  definitions: { source: 1, test: 0.4, docs: 0.4, data: 0.4, generated: 0.1 },
  usages: { source: 1, test: 0.5, docs: 0.4, data: 0.4, generated: 0.1 },
  'docs-and-tests': { source: 0.5, test: 0.9, docs: 1, data: 0.4, generated: 0.1 },
}

/** The hits among candidates, best first. Equal ones keep their order. */
export function rank(candidates: readonly Candidate[], sight: Sight): readonly Hit[] {
  const weights = sight.words.map((word) => weightOf(word, sight.counts?.get(word.text) ?? 0))
  return candidates
    .map((candidate) => judge(candidate, sight, weights))
    .filter((hit) => hit.score > 0)
    .sort((one, other) => other.score - one.score)
}

/** At most `most` hits, each line once, and at most `perFile` of one file. */
export function spread<T extends SeenLine>(hits: readonly T[], most: number, perFile: number): readonly T[] {
  const seen = new Set<string>()
  const ofFile = new Map<string, number>()
  return hits
    .filter((hit) => {
      const [place, before] = [`${hit.path}:${hit.line}`, ofFile.get(hit.path) ?? 0]
      if (seen.has(place) || before >= perFile) return false
      seen.add(place)
      ofFile.set(hit.path, before + 1)
      return true
    })
    .slice(0, most)
}

/** Precise words weigh double, common ones half, and every word the less the more often it was seen. */
function weightOf(word: TellingWord, count: number): number {
  const precision = word.kind === 'word' ? 1 : 2
  const rarity = 1 / (1 + Math.log(1 + count / 8))
  return precision * (word.weak ? 0.5 : 1) * rarity
}

function judge(candidate: Candidate, sight: Sight, weights: readonly number[]): Hit {
  const { words, angle } = sight
  const kind = pathKind(candidate.path)
  const declared = declaredIn(candidate.text, kind === 'docs')
  const places = placesOf(candidate, declared, angle)
  let [sum, covered, total, near, named] = [0, 0, 0, 0, 0]
  for (const [index, word] of words.entries()) {
    const weight = weights[index] ?? 0
    const found = places.map(({ text, worth, covers }) => {
      const share = carries(text, word)
      return { worth: share * worth, covers: Math.min(1, share) * covers }
    })
    const best = Math.max(...found.map((place) => place.worth))
    sum += weight * (best + AGAIN * (found.reduce((all, place) => all + place.worth, 0) - best))
    covered += weight * Math.max(...found.map((place) => place.covers))
    total += weight
    // Neither the body below nor the folder makes a hit by itself.
    near += found.slice(0, 4).reduce((all, place) => all + place.worth, 0)
    named += (found[0]?.covers ?? 0) >= 0.9 ? 1 : 0
  }
  const coverage = total === 0 ? 0 : covered / total
  const inName = named > 1 ? TOGETHER_IN_NAME : 1
  const worth = sum * (LEAST + coverage) * inName + (coverage * precisionOf(declared, words)) / 2
  const factor = fitness(candidate, declared, sight, named) * PATH_WORTH[angle][kind]
  const score = near === 0 ? 0 : worth * factor
  return {
    path: candidate.path,
    line: candidate.line,
    text: candidate.text,
    declared,
    coverage,
    score,
    note: noteOf(candidate, words),
  }
}

interface Place {
  readonly text: Matchable
  readonly worth: number
  readonly covers: number
}

/** Where a word may stand: the name first, then the text, the comment, the file, the body, the folder. */
function placesOf(candidate: Candidate, declared: Declared | undefined, angle: Angle): readonly Place[] {
  const folders = candidate.path.split('/')
  const file = folders.pop() ?? ''
  const name = declared === undefined ? 0 : angle === 'usages' ? 1 : NAME_WORTH[declared.kind]
  const comment = candidate.comment.map((line) => line.text).join(' ')
  return [
    { text: matchable(declared?.name ?? ''), worth: name, covers: 1 },
    { text: matchable(candidate.text), ...TEXT },
    { text: matchable(comment), ...COMMENT },
    { text: matchable(`${file.replace(/\.\w+$/, '')} ${candidate.path}`), ...FILE },
    { text: matchable(candidate.body.join(' ')), ...BODY },
    { text: matchable(folders.join('/')), ...FOLDER },
  ]
}

/** A name that is nothing but the words asked for beats one that has them among others. */
function precisionOf(declared: Declared | undefined, words: readonly TellingWord[]): number {
  if (declared === undefined || declared.kind === 'heading' || declared.kind === 'test') return 0
  const parts = partsOf(declared.name).map(matchable)
  const asked = parts.filter((part) => words.some((word) => !word.weak && carries(part, word) >= 0.3))
  return parts.length === 0 ? 0 : asked.length / parts.length
}

/** What the line is, apart from the words: code before comments, declarations before what only names something. */
function fitness(candidate: Candidate, declared: Declared | undefined, sight: Sight, named: number): number {
  const { text } = candidate
  const exported = /^\s*(?:export|pub|public)\b/.test(text) ? 1.1 : 1
  const tooLong = text.length > 300 ? 0.5 : 1
  const imports = isImport(text) ? 0.2 : 1
  return (
    exported *
    tooLong *
    imports *
    placed(candidate, declared, named, sight.angle) *
    wantedness(candidate, declared, sight.wanted)
  )
}

/** A line that declares one of the words is no usage of it; one that declares something else with it is. */
function placed(
  { path, text }: Candidate,
  declared: Declared | undefined,
  named: number,
  angle: Angle,
): number {
  if (angle === 'usages')
    return declared === undefined || named === 0 ? 1 : declared.kind === 'local' ? 0.9 : 0.5
  if (angle === 'docs-and-tests' || declared !== undefined || pathKind(path) === 'docs') return 1
  return isComment(text) ? 0.8 : 0.6
}

function wantedness({ path, text }: Candidate, declared: Declared | undefined, wanted?: Wanted): number {
  if (wanted === 'test') return pathKind(path) === 'docs' ? 0.4 : 1
  if (wanted === undefined || declared === undefined) return 1
  return isFunction(text, declared) === (wanted === 'behaviour') ? 1.2 : 1
}

function noteOf(candidate: Candidate, words: readonly TellingWord[]): SeenLine | undefined {
  const worth = (line: SeenLine): number => {
    const text = matchable(line.text)
    return words.reduce((sum, word) => sum + carries(text, word), 0)
  }
  const spoken = candidate.comment.filter((line) => /\p{L}/u.test(line.text))
  return spoken.reduce<SeenLine | undefined>(
    (best, line) => (best === undefined || worth(line) > worth(best) ? line : best),
    undefined,
  )
}
