import { basename } from 'node:path'
import type { Law } from './law.ts'

/** Law 10. */
export const ONE_WRITER: Law = {
  number: 10,
  name: 'one writer',
  text: 'Two processes never write one log. The second gets a clear error that names the first.',
  holdsOverDamage: true,
  watch: ({ disk, lockOf }, broken) => ({
    onWrite: (life, path) => {
      const holder = disk.holderOf(lockOf(path))
      // All prompts of the base are answered before it is branched.
      const isOfBase = disk.logs.root !== undefined && lockOf(path) === lockOf(disk.logs.root.path)
      if (isOfBase && disk.logs.branches.length > 0) broken(`${basename(path)} is written, and is a base`)
      if (holder !== life)
        broken(
          `process ${life.number} writes ${basename(path)}, and the session is ${holder === undefined ? "nobody's" : `process ${holder.number}'s`}`,
        )
    },
    onIntrusion: (outcome) => broken(`a second process was let in: ${outcome}`),
  }),
}
