/** Numbers and texts for people. Pure. */
import { withoutSequences } from '../effects/terminal-text.ts'
import type { Usage } from '../machines/agent/messages.ts'

/** All tokens of a usage: read, cached and written. */
export const tokensOf = (usage: Usage): number =>
  usage.input_tokens +
  (usage.cache_creation_input_tokens ?? 0) +
  (usage.cache_read_input_tokens ?? 0) +
  usage.output_tokens

/** `950`, `12.3k`, `4.1M`. */
export function formatCount(count: number): string {
  if (count < 1000) return String(count)
  if (count < 999_950) return `${(count / 1000).toFixed(1)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

/** Milliseconds as `0.2 s`, `12 s`, `1 min 05 s`, `2 h 03 min`. */
export function formatDuration(ms: number): string {
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${pad(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`
}

const pad = (n: number): string => String(n).padStart(2, '0')

/** `1 agent`, `3 agents`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Local time of day, `14:05:09`. */
export function timeOfDay(at: number): string {
  const date = new Date(at)
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`
}

/** Local date and time, `2026-11-30 14:05`. */
export function dateAndTime(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${timeOfDay(at).slice(0, 5)}`
}

// Everything that moves a cursor, sets a colour or turns the direction of text, but tabs and line feeds. What agents,
// tools and files say is shown as text and does nothing to the terminal.
const CONTROLS = /(?![\t\n])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** A text that may go to a terminal: line feeds and tabs stay, all other control characters go. */
export const forTerminal = (text: string): string =>
  withoutSequences(text.replace(/\r\n/g, '\n')).replace(CONTROLS, '')

/** A text in which nothing is hidden: what would steer the terminal is spelled out (`\\u001b`). Line feeds and tabs stay. */
export const spelledOut = (text: string): string =>
  text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/**
 * A value as JSON on one line: the same value to every reader, and nothing to a terminal. JSON itself lets the
 * controls from U+007F on and the marks of direction stand as they are; the others it escapes.
 */
export const toJson = (value: unknown): string => spelledOut(JSON.stringify(value))

/** A text on one line, at most `width` columns wide; what does not fit becomes `…`. */
export function oneLine(text: string, width = Number.POSITIVE_INFINITY): string {
  const line = forTerminal(text).replace(/\s+/g, ' ').trim()
  let columns = 0
  let fits = ''
  for (const { segment } of graphemes.segment(line.slice(0, Math.min(line.length, width * 16)))) {
    const next = columns + widthOf(segment)
    if (next > width) return cut(fits, columns, width)
    fits += segment
    columns = next
  }
  return fits
}

/** The first line that has text. */
export const firstLine = (text: string): string => text.split('\n').find((line) => line.trim() !== '') ?? ''

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f)/u

const widthOf = (grapheme: string): number => (WIDE.test(grapheme) ? 2 : 1)

/** How many columns a text takes. */
export const displayWidth = (text: string): number =>
  [...graphemes.segment(text)].reduce((columns, { segment }) => columns + widthOf(segment), 0)

function cut(fits: string, columns: number, width: number): string {
  if (width < 1) return ''
  if (columns < width) return `${fits}…`
  const segments = [...graphemes.segment(fits)].map(({ segment }) => segment)
  segments.pop()
  return `${segments.join('')}…`
}
