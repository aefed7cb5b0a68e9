/** What an agent has seen of files, in bounded memory. */
import type { SeenFile } from '../../machines/agent/events.ts'
import type { SeenFiles } from './tool.ts'

/** A {@link SeenFiles} that can be told of more. */
export interface SeenFilesRecord extends SeenFiles {
  /** Remembers files as they are now known, the last one as the newest. */
  note(files: readonly SeenFile[]): void
  /** All that is remembered, oldest first: for a fork's copy. */
  files(): readonly SeenFile[]
}

/**
 * Remembers the last `maxFiles` files that were noted.
 *
 * Only `note` makes a file young, a lookup does not: lookups are not in the log, and a resumed agent must
 * remember exactly what the live one did. (A general LRU cache counts both, which is why none is used.)
 */
export function createSeenFiles(
  options: { readonly maxFiles?: number; readonly from?: readonly SeenFile[] } = {},
): SeenFilesRecord {
  const { maxFiles = 100, from = [] } = options
  const hashes = new Map<string, string | null>()
  const note = (files: readonly SeenFile[]): void => {
    for (const { path, hash } of files) {
      hashes.delete(path)
      hashes.set(path, hash)
    }
    for (const oldest of hashes.keys()) {
      if (hashes.size <= maxFiles) break
      hashes.delete(oldest)
    }
  }
  note(from)
  return {
    note,
    hashOf: (path) => hashes.get(path),
    files: () => [...hashes].map(([path, hash]) => ({ path, hash })),
  }
}
