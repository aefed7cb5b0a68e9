/** Texts of files in one form: equal contents give equal bytes, and none is longer than it may be. */

const encoder = new TextEncoder()

/** Length in bytes of UTF-8. */
export const byteLength = (text: string): number => encoder.encode(text).length

/** Without a byte order mark, and with `\n` as the only line end. */
export function normaliseText(text: string): string {
  return (text.startsWith('\ufeff') ? text.slice(1) : text).replace(/\r\n?/g, '\n')
}

/** At most `maxBytes` bytes of UTF-8 from the start. Never splits a character. */
export function startOfText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  return text.slice(0, encoder.encodeInto(text, new Uint8Array(Math.max(0, maxBytes))).read)
}

/** The text as it is, or so much of its start that `marker` fits behind it: never more than `maxBytes` bytes. */
export function cutText(text: string, maxBytes: number, marker: string): string {
  const start = startOfText(text, maxBytes)
  return start.length === text.length ? text : withMarker(start, maxBytes, marker)
}

/** The start of something longer, with `marker` on a paragraph of its own behind it, in at most `maxBytes` bytes. */
export function withMarker(start: string, maxBytes: number, marker: string): string {
  const ending = `\n\n${marker}`
  return startOfText(`${startOfText(start, maxBytes - byteLength(ending)).trimEnd()}${ending}`, maxBytes)
}

/** With control characters and line separators written out, so that a name cannot become a line of its own. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, codeOf)
}

/** As {@link printable}, line by line. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** On one line: runs of blanks and line ends are one blank, other control characters are written out. */
export function onOneLine(text: string): string {
  return printable(text.replaceAll(/\s+/gu, ' ').trim())
}

/** Compares by code units, the same on every machine; locales are not. */
export function byCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

const codeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
