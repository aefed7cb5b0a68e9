import { basename } from 'node:path'
import type { Law } from './law.ts'

/** Law 10. */
export const ONE_WRITER: Law = {
  number: 10,
  name: 'one writer',
  text: 'Two processes never write one log. The second gets a clear error that names the first.',
  watch: ({ disk, lock }, broken) => ({
    onWrite: (life, path) => {
      const holder = disk.holderOf(lock)
      if (holder !== life)
        broken(
          `process ${life.number} writes ${basename(path)}, and the session is ${holder === undefined ? "nobody's" : `process ${holder.number}'s`}`,
        )
    },
    onIntrusion: (outcome) => broken(`a second process was let in: ${outcome}`),
  }),
}
