/**
 * An index of git's for one call, so that the tree's own stays as it is. It lies in the repository's git folder, where a
 * process that is killed leaves it; a lock beside it tells whether the process that works with it still runs.
 */
import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { WorktreeError } from './worktree-error.ts'
import type { WorktreeOwners } from './worktrees.ts'

/** Where it is put. */
export interface ScratchPlace {
  /** The repository's common git folder. */
  readonly repository: string
  readonly owners: Pick<WorktreeOwners, 'lock'>
}

const homeOf = (repository: string): string => join(repository, 'troupe')
const NAME = /^index-[0-9a-f-]{36}/u

/** Hands out the path of an index that begins as a copy of `original`, if there is one, and takes it away afterwards. */
export async function withScratchIndex<T>(
  { repository, owners }: ScratchPlace,
  original: string | undefined,
  use: (index: string) => Promise<T>,
): Promise<T> {
  mkdirSync(homeOf(repository), { recursive: true })
  const index = join(homeOf(repository), `index-${randomUUID()}`)
  const lock = owners.lock(lockOf(index))
  if ('heldBy' in lock)
    throw new WorktreeError('worktree-locked', `${index} is in use (${lock.heldBy}). Try again.`)
  try {
    // What git knows of unchanged files spares it reading them again.
    if (original !== undefined && existsSync(original)) copyFileSync(original, index)
    return await use(index)
  } finally {
    removeIndex(index)
    lock.release()
  }
}

/** Takes away what processes left that died in the middle of {@link withScratchIndex}. */
export function removeScratchLeftovers({ repository, owners }: ScratchPlace): void {
  const home = homeOf(repository)
  if (!existsSync(home)) return
  for (const name of new Set(readdirSync(home).flatMap((file) => NAME.exec(file)?.[0] ?? []))) {
    const lock = owners.lock(lockOf(join(home, name)))
    if ('heldBy' in lock) continue
    removeIndex(join(home, name))
    lock.release()
  }
}

/** Not `.lock`, which is git's own. */
const lockOf = (index: string): string => `${index}.owner`

function removeIndex(index: string): void {
  rmSync(index, { force: true })
  rmSync(`${index}.lock`, { force: true })
}
