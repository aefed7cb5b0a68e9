/** The answer to a question: one direct sentence, citations by angle, and a line about who answers. */
import type { Angle } from './angle.ts'
import { ANGLES, angleTitle } from './angle.ts'
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
  const merged = merge(material.places)
  const lead = leading(material, merged)
  const problems = material.problems.map((problem) => `Note: ${problem}`)
  if (lead === undefined) return [nothing(material), ...problems, SIGNATURE].join('\n\n')
  const order = [lead.angle, ...ANGLES.filter((angle) => angle !== lead.angle)]
  const groups = order.map((angle) =>
    group(angle, angle === lead.angle ? [lead.place, ...merged[angle]] : merged[angle]),
  )
  return [
    [firstSentence(lead.place, lead.hit, material.words), ...unseen(material.words, merged)].join(' '),
    ...groups.filter((text) => text !== ''),
    ...problems,
    SIGNATURE,
  ].join('\n\n')
}

/** Each place once, under the first angle that has it. */
function merge(places: Material['places']): Readonly<Record<Angle, readonly Place[]>> {
  const seen = new Set<string>()
  const once = (angle: Angle): readonly Place[] =>
    places[angle].filter((place) => {
      const known = seen.has(`${place.path}:${place.line}`)
      seen.add(`${place.path}:${place.line}`)
      return !known
    })
  return {
    definitions: once('definitions'),
    usages: once('usages'),
    'docs-and-tests': once('docs-and-tests'),
  }
}

interface Lead {
  readonly angle: Angle
  readonly place: Place
  readonly hit: Hit | undefined
}

/** The angle that the question asks for decides; otherwise the definition, unless a usage fits far better. */
function leading(material: Material, merged: Readonly<Record<Angle, readonly Place[]>>): Lead | undefined {
  const best = (angle: Angle): Lead | undefined => {
    const place = merged[angle][0]
    return place === undefined ? undefined : { angle, place, hit: judged(place, material.words, angle) }
  }
  const asked = angleAsked(material.question)
  const [definition, usage, text] = [best('definitions'), best('usages'), best('docs-and-tests')]
  const wanted =
    asked === undefined
      ? undefined
      : { definitions: definition, usages: usage, 'docs-and-tests': text }[asked]
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

function firstSentence(place: Place, hit: Hit | undefined, words: readonly TellingWord[]): string {
  const declared = declaredIn(place.text, pathKind(place.path) === 'docs') ?? declaredIn(` ${place.text}`)
  const where = `\`${place.path}\`, line ${place.line}`
  const named = words.some((word) => word.kind === 'name' && word.text === declared?.name)
  const note = place.note === undefined ? '' : `; its comment says: ${quotation(place.note.text)}`
  if (declared !== undefined && named) return sentence(`\`${declared.name}\` is defined in ${where}${note}`)
  const likely = (hit?.coverage ?? 0) >= LIKELY
  const what =
    declared === undefined || ['heading', 'test', 'local'].includes(declared.kind)
      ? 'the place'
      : `\`${declared.name}\``
  const opening = likely
    ? `Most likely ${what} you look for is in`
    : `Nothing carries all the words; the closest I found, ${what}, is in`
  const opened = what === 'the place' ? opening : likely ? `Most likely it is ${what}, in` : opening
  return sentence(`${opened} ${where}${note}`)
}

const sentence = (text: string): string => (/[.!?…]»?$/.test(text) ? text : `${text}.`)
const quotation = (text: string): string => `«${shown(text)}»`

/** Words that no citation carries: the reader should know what was not found. */
function unseen(
  words: readonly TellingWord[],
  merged: Readonly<Record<Angle, readonly Place[]>>,
): readonly string[] {
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
