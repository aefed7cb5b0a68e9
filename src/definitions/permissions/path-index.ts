/** A long list of patterns, asked which of them could cover a path without going through it. */
import type { PathMatcher, PathNames } from './path-pattern.ts'

/** Something with a pattern. */
interface WithPattern {
  readonly matcher: PathMatcher
}

/** Which items could cover the path? All that do are among them; not all among them do. In no order. */
export type PathIndex<T extends WithPattern> = (path: PathNames) => ReadonlySet<T>

/** Sorts items by what their patterns need. */
export function pathIndex<T extends WithPattern>(items: readonly T[]): PathIndex<T> {
  const byStart = new Map<string, T[]>()
  const byName = new Map<string, T[]>()
  let longest = 0
  for (const item of items)
    for (const need of item.matcher.needs) {
      if ('name' in need) add(byName, need.name, item)
      else {
        longest = Math.max(longest, need.start.length)
        add(byStart, need.start.join('/'), item)
      }
    }
  return ({ names }) => {
    const found = new Set(byStart.get(''))
    let start = ''
    for (const [index, name] of names.entries()) {
      // Longer starts than any pattern has would cost more with each name.
      if (index < longest) {
        start = index === 0 ? name : `${start}/${name}`
        for (const item of byStart.get(start) ?? []) found.add(item)
      }
      for (const item of byName.get(name) ?? []) found.add(item)
    }
    return found
  }
}

function add<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}
