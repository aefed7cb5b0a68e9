/**
 * Frontmatter of the simplest kind: each line is a key and a plain text, as most agents are written. It is read here
 * without the reader of YAML, which says the same and takes many times as long.
 *
 * Narrow on purpose. Whatever could mean anything else to YAML is left to its reader: values that begin with no
 * letter, comments, a colon with a blank behind it, `true` and `null`, lines that go on, characters that are no
 * plain text, a key that is there twice.
 */

/** A colon only before a character that is no blank, and no `#` at all. */
const LINE = /^([A-Za-z][A-Za-z_-]{0,40}): +([A-Za-z](?:[ !"$-9;-~\u00a1-\u024f\u2010-\u2027]|:(?=[!-~]))*)$/

/** What YAML does not take for text. */
const NO_TEXT = /^(?:true|false|null) *$/i

/** The keys and texts of the lines; undefined where there are none, or where one is not that simple. */
export function readPlainMapping(lines: readonly string[]): Readonly<Record<string, string>> | undefined {
  const mapping: Record<string, string> = {}
  for (const line of lines) {
    const found = LINE.exec(line)
    const key = found?.[1]
    const value = found?.[2]
    if (key === undefined || value === undefined || Object.hasOwn(mapping, key)) return undefined
    if (NO_TEXT.test(key) || NO_TEXT.test(value)) return undefined
    mapping[key] = value.trimEnd()
  }
  return lines.length === 0 ? undefined : mapping
}

/**
 * Does the value behind a key make what it stands in no YAML for certain? So does the most common of all mistakes, a
 * colon in prose without quotes, unless it stands in a comment.
 */
export function isProseWithColon(value: string): boolean {
  return /^[ \t]*[A-Za-z][^#\r\n]*?:(?:[ \t]|$)/.test(value)
}
