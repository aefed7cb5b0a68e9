/**
 * Taking a worktree down, in steps of which each can be done twice, so that whoever comes after an interruption
 * completes it: the folder leaves its place in one step, is deleted, git forgets it, the branch goes, and last the
 * record that says all this was ours.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  unlinkSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../../definitions/message-of.ts'
import { attempt, textAt } from '../attempt.ts'
import { hashOfFile } from './furnish.ts'
import { commitAt, openGit } from './git.ts'
import { isThere } from './is-there.ts'
import { openRecords, type WorktreeRecord } from './records.ts'
import { underLock } from './repository-lock.ts'
import { WorktreeError } from './worktree-error.ts'
import type { WorktreeOwners, WorktreePlan } from './worktrees.ts'

/** Where, and whether the lock of the repository is held already. */
interface Dismantling {
  readonly plan: Pick<WorktreePlan, 'repository'>
  readonly owners: WorktreeOwners
  readonly isLocked?: boolean
}

/** Removes one that nobody would miss, or that is to go whatever is in it; see `Worktrees.remove`. */
export async function removeWorktree(plan: WorktreePlan, owners: WorktreeOwners): Promise<void> {
  const records = openRecords(plan.repository)
  const found = records.read(plan.name)
  if (found === undefined || found.path !== plan.path || found.agentId !== plan.agentId) return
  const tip = found.state === 'removing' ? found.tip : await tipOf(plan)
  const record: WorktreeRecord = { ...found, ...(tip !== undefined && { tip }) }
  // One that was never handed out goes as such: git may have died while it made it.
  if (found.state !== 'creating') records.write({ ...record, state: 'removing' })
  await dismantle(found.state === 'creating' ? record : { ...record, state: 'removing' }, { plan, owners })
}

async function tipOf({ repository, branch }: WorktreePlan): Promise<string | undefined> {
  if (!existsSync(repository)) return undefined
  return commitAt(openGit(repository, { mark: 'worktrees/remove' }), `refs/heads/${branch}`)
}

/** All steps, from wherever an earlier try has left it. The branch goes only if it is still where the record says. */
export async function dismantle(record: WorktreeRecord, where: Dismantling): Promise<void> {
  const { plan, owners, isLocked = false } = where
  unlinkOwn(record)
  const leaving = join(dirname(record.path), `.removing-${basename(record.path)}`)
  if (isThere(record.path)) {
    // Of an earlier try, after which the tree was made again.
    await removeFolder(leaving)
    renameSync(record.path, leaving)
  }
  await removeFolder(leaving)
  const records = openRecords(plan.repository)
  const forget = async (): Promise<void> => {
    await forgetTree(record, plan.repository)
    records.delete(record.name)
  }
  await (isLocked ? forget() : underLock(owners, records.lockPath, forget))
}

/** Our own links first, so that nothing that deletes a folder ever comes near what they lead to. */
function unlinkOwn({ path, links }: WorktreeRecord): void {
  for (const link of links) {
    const place = join(path, link.path)
    if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true) unlinkSync(place)
  }
}

async function forgetTree(record: WorktreeRecord, repository: string): Promise<void> {
  if (!existsSync(repository)) return
  const git = openGit(repository, { mark: `${record.agentId}/worktree` })
  // Twice: also one that a dead git has left locked while it was made.
  const removed = await git.ask(['worktree', 'remove', '--force', '--force', record.path])
  if (removed.exitCode !== 0) removeHalfMade(record, repository)
  await deleteBranch(record, git)
}

/** A git folder that a dead git began and that names no tree yet. */
function removeHalfMade({ path, state }: WorktreeRecord, repository: string): void {
  const folder = join(repository, 'worktrees')
  if (state !== 'creating' || !existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(basename(path)) || !/^\d*$/u.test(name.slice(basename(path).length))) continue
    const named = textAt(join(folder, name, 'gitdir'))?.trim()
    const isBegun = named === undefined || named === '' || named === join(path, '.git')
    if (isBegun && existsSync(join(folder, name, 'locked'))) rmSync(join(folder, name), { recursive: true })
  }
}

async function deleteBranch(
  { branch, path, base, tip, state }: WorktreeRecord,
  git: ReturnType<typeof openGit>,
): Promise<void> {
  const reference = `refs/heads/${branch}`
  const expected = state === 'creating' ? base : tip
  const shown = await git.ask(['for-each-ref', '--format=%(objectname)%00%(worktreepath)', reference])
  const [at, checkedOutIn = ''] = shown.stdout.replace(/\n$/u, '').split('\0')
  // It has moved since, or somebody has it checked out elsewhere: it is not ours any more.
  if (expected === undefined || at !== expected || (checkedOutIn !== '' && checkedOutIn !== path)) return
  await git.run(['update-ref', '-d', reference, expected])
  const section = `branch.${branch}`
  const settings = await git.ask(['config', '--local', '--get-regexp', `^branch\\.${escaped(branch)}\\.`])
  if (settings.exitCode === 0) await git.ask(['config', '--local', '--remove-section', section])
}

const escaped = (text: string): string => text.replaceAll(/[.+*?()[\]{}|^$\\]/gu, '\\$&')

async function removeFolder(path: string): Promise<void> {
  if (!isThere(path)) return
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 2 })
  } catch {
    // Folders without the right to write in them, as package managers leave them.
    makeWritable(path)
    try {
      await rm(path, { recursive: true, force: true, maxRetries: 2 })
    } catch (error) {
      const reason = messageOf(error)
      throw new WorktreeError(
        'worktree-place',
        `${path} could not be deleted (${reason}). Nothing of value is left in it: delete it, or let "troupe worktrees prune" try again.`,
        error,
      )
    }
  }
}

function makeWritable(folder: string): void {
  try {
    chmodSync(folder, 0o700)
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) makeWritable(join(folder, entry.name))
  } catch {
    // Then deleting says what is wrong.
  }
}

/** Whether what the engine put into a tree is as it was made, by path. */
export function ownPathsOf({ path, links, copies }: WorktreeRecord): {
  readonly untouched: ReadonlySet<string>
  readonly touched: readonly string[]
} {
  const untouched = new Set<string>()
  const touched: string[] = []
  for (const link of links) {
    const stats = lstatSync(join(path, link.path), { throwIfNoEntry: false })
    if (
      stats?.isSymbolicLink() === true &&
      attempt(() => readlinkSync(join(path, link.path))) === link.target
    )
      untouched.add(link.path)
    // One that is gone took nothing with it; what has taken its place may be somebody's work.
    else if (stats !== undefined) touched.push(link.path)
  }
  for (const copy of copies) {
    const stats = lstatSync(join(path, copy.path), { throwIfNoEntry: false })
    if (stats?.isFile() === true && hashOfFile(join(path, copy.path)) === copy.hash) untouched.add(copy.path)
    else if (stats !== undefined) touched.push(copy.path)
  }
  return { untouched, touched }
}
