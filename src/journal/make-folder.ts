/** Making a folder with those above it. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf } from './storage-errors.ts'

/** The one call that is needed; `node:fs` has it. */
export interface FolderCalls {
  mkdirSync(path: string, options: { readonly mode: number }): unknown
}

/**
 * Makes a folder and those above it that are missing, with mode 0700. Returns the topmost one that was made, or
 * undefined when the folder was there. Throws what the file system throws.
 *
 * Not Node's own `recursive`: where a file system answers ENOENT for ever (below `/proc`), that never returns.
 */
export function makeFolder(path: string, fs: FolderCalls = { mkdirSync }): string | undefined {
  try {
    fs.mkdirSync(path, { mode: 0o700 })
    return path
  } catch (error) {
    const errno = errnoOf(error)
    // Something stands there. If it is no folder, using it as one says so.
    if (errno === 'EEXIST') return undefined
    const above = dirname(path)
    if (errno !== 'ENOENT' || above === path) throw error
    const topmost = makeFolder(above, fs)
    // Once more, and no further: a parent that is there and still gives ENOENT will go on doing so.
    try {
      fs.mkdirSync(path, { mode: 0o700 })
    } catch (again) {
      // Another process was faster.
      if (errnoOf(again) !== 'EEXIST') throw again
    }
    return topmost ?? path
  }
}
