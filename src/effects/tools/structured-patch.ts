/** Differences of two texts, in the shape that transcripts keep. */

/** One run of changed lines with its surroundings. `lines` begin with ` `, `-`, `+` or `\`. */
export interface PatchHunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly lines: readonly string[]
}

/** Changed lines beyond which no patch is made: finding the shortest one costs the square of it. */
const MAX_CHANGED_LINES = 1000

/** The patch from `before` to `after`; empty when they are equal or differ in too many lines. */
export async function structuredPatch(
  name: string,
  before: string,
  after: string,
): Promise<readonly PatchHunk[]> {
  if (leastChangedLines(before, after) > MAX_CHANGED_LINES) return []
  // Only who edits needs it: 4 MB of memory.
  const { structuredPatch: diffPatch } = await import('diff')
  const options = { context: 3, maxEditLength: MAX_CHANGED_LINES }
  const hunks = diffPatch(name, name, before, after, undefined, undefined, options)?.hunks ?? []
  return hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => {
    return { oldStart, oldLines, newStart, newLines, lines }
  })
}

/** How many lines a patch removes and adds at least: the search for one that does not exist takes longest. */
function leastChangedLines(before: string, after: string): number {
  const surplus = new Map<string, number>()
  for (const line of before.split('\n')) surplus.set(line, (surplus.get(line) ?? 0) + 1)
  for (const line of after.split('\n')) surplus.set(line, (surplus.get(line) ?? 0) - 1)
  let changed = 0
  for (const count of surplus.values()) changed += Math.abs(count)
  return changed
}
