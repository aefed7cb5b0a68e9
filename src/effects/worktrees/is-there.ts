/** Looking for something at a path. In a file of its own, because the rest of the folder loads git. */
import { lstatSync } from 'node:fs'

/** Whether there is anything at a path, a broken link included. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
