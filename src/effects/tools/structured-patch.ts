/** Differences of two texts, in the shape that transcripts keep. */
import { structuredPatch as diffPatch } from 'diff'

/** One run of changed lines with its surroundings. `lines` begin with ` `, `-`, `+` or `\`. */
export interface PatchHunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly lines: readonly string[]
}

/** Changed lines beyond which no patch is made: finding the shortest one costs the square of it. */
const MAX_CHANGED_LINES = 4000

/** The patch from `before` to `after`; empty when they are equal or differ in too many lines. */
export function structuredPatch(name: string, before: string, after: string): readonly PatchHunk[] {
  const options = { context: 3, maxEditLength: MAX_CHANGED_LINES }
  const hunks = diffPatch(name, name, before, after, undefined, undefined, options)?.hunks ?? []
  return hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => {
    return { oldStart, oldLines, newStart, newLines, lines }
  })
}
