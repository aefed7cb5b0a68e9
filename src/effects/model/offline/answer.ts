/** The answer to a question: one direct sentence, citations by angle, and a line about who answers. */
import type { Angle } from './angle.ts'
import { ANGLES, angleTitle } from './angle.ts'
import type { Declared } from './lines.ts'
import { declaredIn } from './lines.ts'
import { carries, matchable } from './match.ts'
import { pathKind } from './path-kind.ts'
import type { Hit } from './rank.ts'
import { rank, spread } from './rank.ts'
import type { Place } from './report.ts'
import { shown } from './report.ts'
import { SIGNATURE } from './talk.ts'
import { written } from './task.ts'
import type { TellingWord } from './words.ts'

/** What there is to answer with. */
export interface Material {
  readonly question: string
  readonly words: readonly TellingWord[]
  /** The best places of each angle, best first. */
  readonly places: Readonly<Record<Angle, readonly Place[]>>
  /** What went wrong, one sentence each. */
  readonly problems: readonly string[]
}

/** Citations of each angle. */
const MOST: Readonly<Record<Angle, number>> = { definitions: 6, usages: 5, 'docs-and-tests': 5 }
const MOST_PER_FILE = 3
/** Below this share of the words, by weight, a hit is no answer but a guess. */
const LIKELY = 0.5

/** The whole answer. */
export function answer(material: Material): string {
  const asked = angleAsked(material.question)
  const merged = merge(material.places, asked)
  const lead = leading(material.words, merged, asked)
  const problems = material.problems.map((problem) => `Note: ${problem}`)
  if (lead === undefined) return [nothing(material), ...problems, SIGNATURE].join('\n\n')
  const groups = startingWith(lead.angle).map((angle) => group(angle, merged[angle]))
  return [
    [firstSentence(lead, material.words), ...unseen(material.words, merged)].join(' '),
    ...groups.filter((text) => text !== ''),
    ...problems,
    SIGNATURE,
  ].join('\n\n')
}

/**
 * Each place once: under the angle that was asked for, else under the first that has it. What a test declares is
 * no definition where it is cited as a test.
 */
function merge(places: Material['places'], asked: Angle | undefined): Material['places'] {
  const nameOf = (place: Place): string => `${place.path}:${place.line}`
  const claimed = new Set<string>()
  const tests = new Set(places['docs-and-tests'].map(nameOf))
  const merged: Record<Angle, readonly Place[]> = { definitions: [], usages: [], 'docs-and-tests': [] }
  for (const angle of startingWith(asked)) {
    merged[angle] = places[angle].filter((place) => {
      const name = nameOf(place)
      if (claimed.has(name) || (angle === 'definitions' && tests.has(name))) return false
      claimed.add(name)
      return true
    })
  }
  return merged
}

const startingWith = (first: Angle | undefined): readonly Angle[] =>
  first === undefined ? ANGLES : [first, ...ANGLES.filter((angle) => angle !== first)]

interface Lead {
  readonly angle: Angle
  readonly place: Place
  readonly hit: Hit | undefined
}

/** The angle that the question asks for decides; otherwise the definition, unless a usage fits far better. */
function leading(
  words: readonly TellingWord[],
  merged: Material['places'],
  asked: Angle | undefined,
): Lead | undefined {
  const best = (angle: Angle): Lead | undefined => {
    const place = merged[angle][0]
    return place === undefined ? undefined : { angle, place, hit: judged(place, words, angle) }
  }
  const [definition, usage, text] = [best('definitions'), best('usages'), best('docs-and-tests')]
  const wanted = asked === undefined ? undefined : best(asked)
  if (wanted !== undefined) return wanted
  if (definition === undefined || pathKind(definition.place.path) !== 'source')
    return usage ?? definition ?? text
  const fits = (lead: Lead | undefined): number => lead?.hit?.coverage ?? 0
  return fits(usage) > 2 * fits(definition) ? usage : definition
}

function angleAsked(question: string): Angle | undefined {
  if (/\b(?:tests?|tested|documented|documentation|docs|spec(?:ified)?)\b/i.test(question))
    return 'docs-and-tests'
  if (
    /\b(?:who|what) (?:calls|uses|invokes|imports)\b|\b(?:callers?|usages?|referenced|called from|used)\b/i.test(
      question,
    )
  )
    return 'usages'
  return undefined
}

/** Only what the report says can be judged here: the line, its note and its path. */
function judged(place: Place, words: readonly TellingWord[], angle: Angle): Hit | undefined {
  const comment = place.note === undefined ? [] : [place.note]
  return rank([{ ...place, comment, body: [] }], { words, angle })[0]
}

function firstSentence({ angle, place, hit }: Lead, words: readonly TellingWord[]): string {
  // Reports have lost the indentation by which a method is known.
  const declared = declaredIn(place.text, pathKind(place.path) === 'docs') ?? declaredIn(` ${place.text}`)
  const unnamed = declared === undefined || angle === 'usages' || UNNAMED.has(declared.kind)
  const name = unnamed ? undefined : declared.name
  const where = `\`${place.path}\`, line ${place.line}`
  const note = place.note === undefined ? '' : `; its comment says: «${shown(place.note.text)}»`
  if (name !== undefined && words.some((word) => word.kind === 'name' && word.text === name))
    return sentence(`\`${name}\` is defined in ${where}${note}`)
  if ((hit?.coverage ?? 0) < LIKELY)
    return sentence(`Nothing carries most of the words; the closest I found is in ${where}${note}`)
  const subject = name === undefined ? 'the place you look for is' : `it is \`${name}\`,`
  return sentence(`Most likely ${subject} in ${where}${note}`)
}

/** What has a name, but none that others call it by. */
const UNNAMED: ReadonlySet<Declared['kind']> = new Set(['heading', 'test', 'local'] as const)

const sentence = (text: string): string => (/[.!?…]»?$/.test(text) ? text : `${text}.`)

/** Words that no citation carries: the reader should know what was not found. */
function unseen(words: readonly TellingWord[], merged: Material['places']): readonly string[] {
  const texts = ANGLES.flatMap((angle) => merged[angle]).map((place) =>
    matchable(`${place.path} ${place.text} ${place.note?.text ?? ''}`),
  )
  const missing = words.filter((word) => !word.weak && !texts.some((text) => carries(text, word) >= 0.3))
  return missing.length === 0 ? [] : [`No place found carries ${missing.map(written).join(', ')}.`]
}

function group(angle: Angle, places: readonly Place[]): string {
  const kept = spread(places, MOST[angle], MOST_PER_FILE)
  if (kept.length === 0) return ''
  const title = angleTitle[angle]
  const rows = kept.map((place) => `- ${place.path}:${place.line}: ${shown(place.text)}`)
  return [`${title.charAt(0).toUpperCase()}${title.slice(1)}:`, ...rows].join('\n')
}

function nothing(material: Material): string {
  const words = material.words.map(written).join(', ')
  return `I found no place in this code base for ${words}: neither names and usages nor docs and tests carry these words. Other words for the same thing may help.`
}
