/** Which files a search may show: those that a deny rule for Read forbids are left out of every result. */
import { join, relative, resolve } from 'node:path'
import type { Place } from './confinement.ts'
import { counted } from './lines.ts'
import type { ToolContext } from './tool.ts'

/**
 * Whether a path that a search in `root` found may be shown. Paths may be relative to the working directory. Both
 * the path as it is named and where it leads must be allowed: below the root no search follows a link.
 */
export function readableIn(root: Place, { cwd, mayRead }: ToolContext): (path: string) => boolean {
  if (mayRead === undefined) return () => true
  const known = new Map<string, boolean>()
  const judge = (path: string): boolean => {
    const named = resolve(cwd, path)
    return mayRead(named) && mayRead(join(root.real, relative(root.named, named)))
  }
  return (path) => {
    const before = known.get(path)
    if (before !== undefined) return before
    const may = judge(path)
    known.set(path, may)
    return may
  }
}

/** A note on files that were left out, for the end of a result; undefined when there are none. */
export const leftOutNote = (count: number): string | undefined =>
  count === 0 ? undefined : `[${counted(count, 'file')} left out by permissions.]`
