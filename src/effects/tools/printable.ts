/** Names of files as they stand in results: one line each, whatever a name holds. */

/** What would break a line, hide text or turn its direction. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/**
 * The name itself, or in quotes with escapes as in JSON: a line end in a name must not look like the next line of a
 * result, which a stranger could write anything on.
 */
export function printable(name: string): string {
  if (name.search(UNPRINTABLE) < 0) return name
  const escaped = JSON.stringify(name).replaceAll(UNPRINTABLE, escapeOf)
  return escaped
}

const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
