/** The report of an exploring child: how the child writes it, and how the parent reads it. */
import type { Angle } from './angle.ts'
import { angleTitle } from './angle.ts'
import type { SeenLine } from './tool-text.ts'

/** One place of a report. */
export interface Place extends SeenLine {
  /** What the comment above says, in one line. */
  readonly note: SeenLine | undefined
}

/** Longer lines are cut, with a mark. In characters. */
const LONGEST_LINE = 160

/** The text of a report. `problems` are what went wrong on the way, one sentence each. */
export function writeReport(
  angle: Angle,
  words: string,
  places: readonly Place[],
  problems: readonly string[],
): string {
  const found =
    places.length === 0
      ? `Nothing found for ${angleTitle[angle]} of ${words}.`
      : `Found for ${angleTitle[angle]} of ${words}, the closest first:`
  const rows = places.flatMap((place) => [
    `${place.path}:${place.line}: ${shown(place.text)}`,
    ...(place.note === undefined ? [] : [`    line ${place.note.line} says: ${shown(place.note.text)}`]),
  ])
  const troubles = problems.map((problem) => `Problem: ${problem}`)
  return [
    found,
    ...(rows.length === 0 ? [] : ['', ...rows]),
    ...(troubles.length === 0 ? [] : ['', ...troubles]),
  ].join('\n')
}

/** What a report says; undefined where the text is no report. */
export function readReport(
  text: string,
): { readonly places: readonly Place[]; readonly problems: readonly string[] } | undefined {
  if (!/^(?:Found|Nothing found) for /m.test(text)) return undefined
  const places: Place[] = []
  const problems: string[] = []
  for (const row of text.split('\n')) {
    const note = /^ {4}line (\d+) says: (.*)$/s.exec(row)
    const last = places.at(-1)
    if (note !== null && last !== undefined) {
      places[places.length - 1] = {
        ...last,
        note: { path: last.path, line: Number(note[1]), text: note[2] ?? '' },
      }
      continue
    }
    const problem = /^Problem: (.+)$/s.exec(row)?.[1]
    if (problem !== undefined) {
      problems.push(problem)
      continue
    }
    const place = /^(\S[^:]*):(\d+): (.*)$/s.exec(row)
    if (place !== null)
      places.push({ path: place[1] ?? '', line: Number(place[2]), text: place[3] ?? '', note: undefined })
  }
  return { places, problems }
}

/** A line as it is cited: without its indentation, and cut where it is too long. */
export function shown(text: string): string {
  const trimmed = text.replaceAll('\r', '').trim()
  if (trimmed.length <= LONGEST_LINE) return trimmed
  return `${trimmed.slice(0, LONGEST_LINE).replace(/[\uD800-\uDBFF]$/, '')}…`
}
