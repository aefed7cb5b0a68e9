/** Where in its file a value stands. */
import type { Place } from './file-notes.ts'
import type { RawField } from './frontmatter.ts'

/** The place of a key. */
export function placeOf({ segment }: RawField): Place {
  return segment === undefined ? {} : { line: segment.line, column: segment.column }
}

/** The place of a text in the value of a key; that of the key where the text is not found. */
export function placeIn(raw: RawField, text: string): Place {
  const { segment } = raw
  for (const [index, line] of segment?.written.entries() ?? []) {
    // Behind the key, so that `tools: tool` finds the second.
    const from = index === 0 ? line.indexOf(':') + 1 : 0
    const column = line.indexOf(text, from)
    if (segment !== undefined && column !== -1) {
      const indent = index === 0 ? segment.column - 1 : 0
      return { line: segment.line + index, column: indent + column + 1 }
    }
  }
  return placeOf(raw)
}
