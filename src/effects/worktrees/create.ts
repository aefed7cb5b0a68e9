/**
 * Making a worktree, step by step: record, branch and folder under the lock of the repository; the files, which take
 * long in a large one, after it. A tree that was never handed out is taken down again when a step fails.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { WorktreeOptions } from '../../definitions/worktrees/options.ts'
import { findRepositoryRoot } from '../context/repository-root.ts'
import { furnish } from './furnish.ts'
import { commitAt, type Git, hasBranch, openGit, programsOff, type Setting } from './git.ts'
import { isThere } from './is-there.ts'
import { changesOf, WORKTREES_FOLDER } from './plan.ts'
import { openRecords, recordOf, type WorktreeRecord } from './records.ts'
import { dismantle } from './remove.ts'
import { gitDirOfTree } from './repository.ts'
import { underLock } from './repository-lock.ts'
import { WorktreeError } from './worktree-error.ts'
import type { MadeWorktree, WorktreeOwners, WorktreePlan, WorktreeUse } from './worktrees.ts'

/** What making one needs besides its plan. */
export interface Making {
  readonly plan: WorktreePlan
  readonly use: WorktreeUse
  readonly options: WorktreeOptions
  readonly owners: WorktreeOwners
}

/** Makes it; see `Worktrees.create`. */
export async function createWorktree(making: Making): Promise<MadeWorktree> {
  const { plan } = making
  const found = openRecords(plan.repository).read(plan.name)
  if (found !== undefined && isHandedOut(found, making)) return takeOver(making, found)
  return make(making, async (git) => {
    // Both were free when this was planned, and belong to somebody else by now.
    const isBranch = await hasBranch(git, plan.branch)
    if (isBranch || isThere(plan.path))
      throw new WorktreeError(
        'worktree-taken',
        `${isBranch ? `The branch ${plan.branch}` : plan.path} is there by now, and is somebody else's. Plan again.`,
      )
    return ['--no-track', '-b', plan.branch, plan.path, plan.base]
  })
}

/** Gives an agent its tree back; see `Worktrees.reopen`. */
export async function reopenWorktree(making: Making): Promise<MadeWorktree & { readonly wasMade: boolean }> {
  const { plan } = making
  const found = openRecords(plan.repository).read(plan.name)
  if (found !== undefined && found.agentId !== making.plan.agentId) throw taken(making)
  if (isTreeOf(plan)) return { ...(await takeOver(making, found)), wasMade: false }
  if (!existsSync(plan.repository))
    throw new WorktreeError(
      'worktree-base-gone',
      `The repository ${plan.repository} is not there any more, and with it the worktree ${plan.path}. Put it back and resume; the agent is not let loose in another place.`,
    )
  const made = await make(making, async (git) => {
    if (isThere(plan.path))
      throw new WorktreeError(
        'worktree-taken',
        `${plan.path} is there, but is no worktree of ${plan.repository} any more (its .git is gone or leads elsewhere). Nothing in it was touched: move it away and resume, and the worktree is made again from commit ${plan.base}.`,
      )
    // The branch may have what the folder had not: commits.
    if (await hasBranch(git, plan.branch)) return ['--force', plan.path, plan.branch]
    if ((await commitAt(git, plan.base)) !== undefined)
      return ['--no-track', '--force', '-b', plan.branch, plan.path, plan.base]
    throw new WorktreeError(
      'worktree-base-gone',
      `The worktree ${plan.path} is gone, and commit ${plan.base}, which it was made from, is not in the repository any more. Fetch it and resume; the agent is not let loose in another place.`,
    )
  })
  return { ...made, wasMade: true }
}

/** The steps of both. `argumentsOf` looks at the repository under the lock and says what `git worktree add` is asked. */
async function make(
  making: Making,
  argumentsOf: (git: Git) => Promise<readonly string[]>,
): Promise<MadeWorktree> {
  const { plan, use, options, owners } = making
  const { signal } = use
  const records = openRecords(plan.repository)
  const git = openGit(plan.repository, { mark: `${plan.agentId}/worktree`, signal })
  const config = await programsOff(git)
  let record = newRecord(making)
  let isOurs = false
  try {
    await underLock(
      owners,
      records.lockPath,
      async () => {
        const found = records.read(plan.name)
        if (found !== undefined && found.agentId !== plan.agentId) throw taken(making)
        // Begun by a process that died before it had handed it out.
        if (found?.state === 'creating') await dismantle(found, { plan, owners, isLocked: true })
        const wanted = await argumentsOf(git)
        isOurs = true
        records.write(record)
        prepareFolder(plan)
        // The log of its HEAD exists from now on, and git goes on with one that exists, whatever the settings say.
        const logs: Setting = ['core.logAllRefUpdates', 'always']
        await git.run(['worktree', 'add', '--quiet', '--no-checkout', ...wanted], {
          config: [...config, logs],
        })
        const gitDir = gitDirOfTree(plan)
        record = { ...record, ...(gitDir !== undefined && { gitDir }) }
        records.write(record)
        if ((options.sparsePaths ?? []).length > 0) await chooseFolders(making)
      },
      signal,
    )
    const tree = openGit(plan.path, { mark: `${plan.agentId}/worktree`, signal, config })
    const caller = openCaller(making, config)
    const [lacksChanges] = await Promise.all([
      // A snapshot has them all.
      options.uncommitted === 'snapshot' ? false : caller === undefined ? false : hasChanges(caller),
      tree.run(['reset', '--hard', '--quiet', '--no-recurse-submodules']),
    ])
    const furnished = await furnish({ tree, caller, options, root: rootOf(plan) })
    records.write({ ...record, links: furnished.links, copies: furnished.copies, state: 'ready' })
    return { lacksChanges, notes: [...filterNotes(config), ...furnished.notes] }
  } catch (error) {
    if (isOurs) await undo(making, record).catch(() => {})
    throw error
  }
}

/** Takes down what was begun. Nobody has worked in it; a branch that was there before stays. */
async function undo({ plan, owners }: Making, record: WorktreeRecord): Promise<void> {
  await dismantle({ ...record, tip: plan.base }, { plan, owners })
}

const newRecord = ({ plan, owners }: Making): WorktreeRecord => ({
  ...recordOf(plan),
  createdAt: new Date().toISOString(),
  owner: { ...owners.self() },
  state: 'creating',
})

const isHandedOut = (record: WorktreeRecord, { plan }: Making): boolean =>
  record.agentId === plan.agentId && record.state === 'ready' && record.base === plan.base && isTreeOf(plan)

/** Whether the folder is a tree of the repository that it was made from. */
const isTreeOf = (plan: WorktreePlan): boolean => gitDirOfTree(plan) !== undefined

/** From now on it is this process that works in it. */
async function takeOver(making: Making, found: WorktreeRecord | undefined): Promise<MadeWorktree> {
  const { plan, use, owners } = making
  const records = openRecords(plan.repository)
  await underLock(
    owners,
    records.lockPath,
    async () => {
      const gitDir = gitDirOfTree(plan)
      const record = found ?? { ...newRecord(making), ...(gitDir !== undefined && { gitDir }) }
      records.write({ ...record, owner: { ...owners.self() }, state: 'ready' })
    },
    use.signal,
  )
  return { lacksChanges: false, notes: [] }
}

const taken = ({ plan }: Making): WorktreeError =>
  new WorktreeError(
    'worktree-taken',
    `The worktree ${plan.path} belongs to another agent by now. Plan again.`,
  )

/** The whole tree that the caller works in, if there is one (still). */
function openCaller({ plan, use }: Making, config: readonly Setting[]): Git | undefined {
  const top = existsSync(use.cwd) ? findRepositoryRoot(use.cwd) : undefined
  return top === undefined
    ? undefined
    : openGit(top, { mark: `${plan.agentId}/worktree`, signal: use.signal, config })
}

/** Whether the caller has changes that are in no commit. It is only told, so what git cannot say is no reason to stop. */
async function hasChanges(caller: Git): Promise<boolean> {
  try {
    return (await changesOf(caller, [])).length > 0
  } catch {
    return false
  }
}

/** The main tree of the repository: the folder that all worktrees are below. */
const rootOf = ({ path }: WorktreePlan): string => join(path, ...WORKTREES_FOLDER.map(() => '..'), '..')

/** The folder for worktrees: there, where it is meant to be, and hidden from `git status`. */
function prepareFolder({ path, repository }: WorktreePlan): void {
  const folder = dirname(path)
  mkdirSync(folder, { recursive: true })
  if (realpathSync(folder) !== folder)
    throw new WorktreeError(
      'worktree-place',
      `${folder} leads to ${realpathSync(folder)} through a symbolic link, so no worktree is made there. Remove the link.`,
    )
  const exclude = join(repository, 'info', 'exclude')
  const line = `/${WORKTREES_FOLDER.join('/')}/`
  const before = existsSync(exclude) ? readFileSync(exclude, 'utf8') : ''
  if (before.split(/\r?\n/u).includes(line)) return
  mkdirSync(dirname(exclude), { recursive: true })
  appendFileSync(exclude, `${before === '' || before.endsWith('\n') ? '' : '\n'}${line}\n`)
}

/** Writes into the repository's configuration (that trees have settings of their own), so it is done under the lock. */
async function chooseFolders({ plan, use, options }: Making): Promise<void> {
  const tree = openGit(plan.path, { mark: `${plan.agentId}/worktree`, signal: use.signal })
  await tree.run(['sparse-checkout', 'set', '--cone', '--end-of-options', ...(options.sparsePaths ?? [])])
}

function filterNotes(config: readonly Setting[]): readonly string[] {
  const names = [...new Set(config.flatMap(([key]) => /^filter\.([\s\S]+)\.clean$/u.exec(key)?.[1] ?? []))]
  return names.length === 0
    ? []
    : [
        `The repository itself names filters (${names.join(', ')}); they were not run, so files that need them are in the worktree as they are stored.`,
      ]
}
