/** «Did you mean»: the one of a few names that a misspelt one is nearest to. */

/** The candidate at most a third of the name's length in edits away (case ignored), or undefined. */
export function closestName(name: string, candidates: readonly string[]): string | undefined {
  const wanted = name.trim().toLowerCase()
  const allowance = Math.max(1, Math.floor(wanted.length / 3))
  let best: { readonly candidate: string; readonly distance: number } | undefined
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - wanted.length) > allowance) continue
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance <= allowance && (best === undefined || distance < best.distance))
      best = { candidate, distance }
  }
  return best?.candidate
}

/** ` Did you mean "X"?`, or the empty string: made to be put behind a sentence. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const closest = closestName(name, candidates)
  return closest === undefined ? '' : ` Did you mean "${closest}"?`
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one into the other; a row at a time. */
function editDistance(left: string, right: string): number {
  let before: readonly number[] = []
  let row: readonly number[] = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : replaced
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[right.length] ?? 0
}
