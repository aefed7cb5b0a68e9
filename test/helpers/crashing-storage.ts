/** A disk under a process that dies at a chosen append: right before its bytes are written, or right after. */
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import type { Storage } from '../../src/journal/storage.ts'
import { StorageError } from '../../src/journal/storage.ts'

export interface CrashPoint {
  /** Number of the append, from 1. */
  readonly at: number
  /** `before`: what led to the append was done and is not in the log. `after`: it is in the log, and nothing followed. */
  readonly when: 'before' | 'after'
}

export interface CrashingStorage {
  readonly storage: Storage
  /** Whether the point was reached. */
  readonly hasCrashed: () => boolean
  /** What is on the disk now. */
  readonly files: () => ReadonlyMap<string, string>
  /** The disk as the next process finds it. Ends this one. */
  readonly survivor: () => MemoryStorage
}

export function createCrashingStorage(
  point: CrashPoint,
  on: MemoryStorage = createMemoryStorage(),
): CrashingStorage {
  let appends = 0
  let isDead = false
  const die = (path: string): never => {
    isDead = true
    throw new StorageError('crashed', path, 'the process of this test has died')
  }
  const alive =
    <A extends unknown[], R>(act: (...args: A) => R) =>
    (...args: A): R =>
      isDead ? die('') : act(...args)
  return {
    storage: {
      ...on,
      append: (batch) => {
        const path = batch[0]?.path ?? ''
        if (isDead) return die(path)
        appends += 1
        if (appends !== point.at) return on.append(batch)
        if (point.when === 'after') on.append(batch)
        return die(path)
      },
      writeWhole: alive(on.writeWhole),
      lock: alive(on.lock),
    },
    hasCrashed: () => isDead,
    files: () => on.files,
    survivor: () => on.crash(),
  }
}
