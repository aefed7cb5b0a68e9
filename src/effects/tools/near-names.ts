/** «Did you mean»: existing names that resemble one that does not exist. */
import { readdir } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'

const MAX_NAMES_LOOKED_AT = 2000
const MAX_SUGGESTIONS = 3

/** Up to three paths in the same folder whose names resemble the one of `path`, the nearest first. */
export async function nearNames(path: string): Promise<readonly string[]> {
  const folder = dirname(path)
  const wanted = basename(path)
  const names = await readdir(folder).catch(() => [])
  return names
    .slice(0, MAX_NAMES_LOOKED_AT)
    .map((name) => ({ name, distance: distanceOf(wanted, name) }))
    .filter(({ distance }) => distance <= Math.max(1, Math.floor(wanted.length / 4)))
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ name }) => join(folder, name))
}

/** Edits between two names; another case or another extension counts as one. */
function distanceOf(a: string, b: string): number {
  const [lowerA, lowerB] = [a.toLowerCase(), b.toLowerCase()]
  if (lowerA === lowerB) return 1
  const stem = (name: string): string => name.slice(0, name.length - extname(name).length)
  return stem(lowerA) === stem(lowerB) ? 1 : editDistance(lowerA, lowerB)
}

/** Insertions, deletions, replacements and swaps of neighbours (`scr` for `src`) between two texts. */
export function editDistance(a: string, b: string): number {
  let previous: readonly number[] = []
  let row: readonly number[] = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? (previous[j - 2] ?? 0) + 1 : replaced
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    previous = row
    row = next
  }
  return row[b.length] ?? 0
}
