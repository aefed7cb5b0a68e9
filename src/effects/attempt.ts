/** Looking at what may be gone by the time one looks, or belong to somebody else. */
import { readFileSync } from 'node:fs'

/** What a look gives; undefined when it fails, for whatever reason. */
export function attempt<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}

/** The text of a small file; undefined when it cannot be read. */
export const textAt = (path: string): string | undefined => attempt(() => readFileSync(path, 'utf8'))
