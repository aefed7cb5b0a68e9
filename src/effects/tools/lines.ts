/** Lines and numbers, as all tools show them. */

/** The lines of a text without their line ends; a line end at the very end opens no further line. */
export function linesOf(text: string): readonly string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
}

/** Cuts a line to `max` characters and says so. Never splits a character in two. */
export function cutLine(line: string, max: number): string {
  if (line.length <= max) return line
  const end = isHighSurrogate(line.charCodeAt(max - 1)) ? max - 1 : max
  return `${line.slice(0, end)}… [cut, ${line.length} characters]`
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

/** The number of the line in which the character at `offset` stands, from 1. */
export function lineNumberAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}

/** `1 line`, `3 lines`. `many`: a plural that is made otherwise. */
export const counted = (count: number, noun: string, many = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : many}`
