/** One at a time per repository, also across processes: short work, so whoever comes second waits. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { pause } from '../process/pause.ts'
import { WorktreeError } from './worktree-error.ts'
import type { WorktreeOwners } from './worktrees.ts'

/** How long somebody waits for his turn, in milliseconds: what is done under the lock takes well under a second. */
const PATIENCE_MS = 120_000
const LONGEST_PAUSE_MS = 100

/** Within this process nobody need poll: the turns of each lock, in order. */
const turns = new Map<string, Promise<void>>()

/** Does something while nobody else does anything under this lock. Rejects with `worktree-locked` after two minutes. */
export async function underLock<T>(
  owners: WorktreeOwners,
  path: string,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const before = turns.get(path) ?? Promise.resolve()
  let done = (): void => {}
  const mine = new Promise<void>((resolve) => {
    done = resolve
  })
  const turn = before.then(() => mine)
  turns.set(path, turn)
  try {
    await before
    const release = await acquire(owners, path, signal)
    try {
      return await work()
    } finally {
      release()
    }
  } finally {
    done()
    if (turns.get(path) === turn) turns.delete(path)
  }
}

async function acquire(
  owners: WorktreeOwners,
  path: string,
  signal: AbortSignal | undefined,
): Promise<() => void> {
  mkdirSync(dirname(path), { recursive: true })
  const deadline = Date.now() + PATIENCE_MS
  for (let wait = 2; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted()
    const lock = owners.lock(path)
    if ('release' in lock) return lock.release
    if (Date.now() > deadline)
      throw new WorktreeError(
        'worktree-locked',
        `the worktrees of this repository are in use (${lock.heldBy}; lock ${path}). If that process hangs, end it and try again.`,
      )
    await pause(wait)
  }
}
