/** A storage in memory whose appends a test can hold back, so that it stands between two lines of two logs. */
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'

export interface HeldStorage {
  readonly storage: MemoryStorage
  /** Holds the next append whose text, or whose path, has this in it. */
  hold(part: string): void
  /** Whether it has come. */
  readonly isHeld: boolean
  /** Writes it; whoever waits for it does not know yet. */
  write(): void
  /** Writes it, if it is not written yet, and lets the engine go on. */
  release(): void
  /** The process dies here. The storage of the next one. */
  crash(): MemoryStorage
}

export function heldStorage(): HeldStorage {
  const memory = createMemoryStorage()
  let wanted: string | undefined
  let held: { readonly write: () => void; readonly resolve: () => void } | undefined
  const write = (): void => {
    held?.write()
    if (held !== undefined) held = { ...held, write: () => {} }
  }
  return {
    storage: {
      ...memory,
      append: (batch) => {
        const part = wanted
        if (part === undefined || !batch.some(({ path, text }) => path.includes(part) || text.includes(part)))
          return memory.append(batch)
        wanted = undefined
        return new Promise((resolve) => {
          held = { write: () => void memory.append(batch), resolve }
        })
      },
    },
    hold: (part) => {
      wanted = part
    },
    get isHeld() {
      return held !== undefined
    },
    write,
    release: () => {
      write()
      held?.resolve()
      held = undefined
    },
    crash: () => memory.crash(),
  }
}
