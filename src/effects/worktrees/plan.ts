/** Where a worktree will be, and from which commit. Makes nothing but a commit that nothing refers to. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { somePaths } from '../../definitions/worktrees/decide.ts'
import { branchOfTree, folderOfTree } from '../../definitions/worktrees/names.ts'
import type { WorktreeOptions } from '../../definitions/worktrees/options.ts'
import { commitAt, entriesOf, type Git, openGit, programsOff, type Setting } from './git.ts'
import { isThere } from './is-there.ts'
import { openRecords } from './records.ts'
import { findRepository, noRepository, type Repository } from './repository.ts'
import { type ScratchPlace, withScratchIndex } from './scratch-index.ts'
import { WorktreeError } from './worktree-error.ts'
import type { WorktreeOwners, WorktreePlan, WorktreeRequest } from './worktrees.ts'

/** The folder of all worktrees, below the root of a repository. */
export const WORKTREES_FOLDER = ['.claude', 'worktrees'] as const

/** Plans one; see `Worktrees.plan`. */
export async function planWorktree(
  request: WorktreeRequest,
  { uncommitted = 'ignore' }: WorktreeOptions,
  owners: WorktreeOwners,
): Promise<WorktreePlan> {
  const { cwd, agentId, signal } = request
  if (!existsSync(cwd)) throw noRepository(cwd)
  const git = openGit(cwd, { mark: `${agentId}/worktree`, signal })
  const [repository, head, branches] = await Promise.all([
    findRepository(git),
    commitAt(git, 'HEAD'),
    branchesLike(git, request).catch(() => []),
  ])
  if (head === undefined) throw noCommits(cwd)
  const { name, branch } = freeName(request, repository, new Set(branches))
  const path = join(repository.root, ...WORKTREES_FOLDER, folderOfTree(name))
  const base = await baseFor(git, head, uncommitted, repository, owners)
  return { agentId, name, path, branch, base, repository: repository.commonDir }
}

const noCommits = (cwd: string): WorktreeError =>
  new WorktreeError(
    'worktree-no-commits',
    `The repository of ${cwd} has no commit yet, so there is nothing to make a worktree from. Commit something first (git add, git commit), or start the agent without isolation.`,
  )

/** Branches that stand in the way of any of the names. */
async function branchesLike(git: Git, { names, branch }: WorktreeRequest): Promise<readonly string[]> {
  const wanted = branch ?? branchOfTree(names[0] ?? '')
  const pattern = names.length > 1 ? `refs/heads/${wanted}*` : `refs/heads/${wanted}`
  const { stdout } = await git.ask(['for-each-ref', '--format=%(refname:strip=2)', pattern])
  return stdout.split('\n').filter((line) => line !== '')
}

function freeName(
  { names, branch: asked }: WorktreeRequest,
  repository: Repository,
  branches: ReadonlySet<string>,
): { readonly name: string; readonly branch: string } {
  const records = openRecords(repository.commonDir)
  for (const name of names) {
    const branch = asked ?? branchOfTree(name)
    const path = join(repository.root, ...WORKTREES_FOLDER, folderOfTree(name))
    if (!branches.has(branch) && records.read(name) === undefined && !isThere(path)) return { name, branch }
  }
  const [name = ''] = names
  throw new WorktreeError(
    'worktree-taken',
    `There is a worktree or a branch "${asked ?? branchOfTree(name)}" for the name "${name}" already. Take another name, or see "troupe worktrees list".`,
  )
}

async function baseFor(
  git: Git,
  head: string,
  policy: NonNullable<WorktreeOptions['uncommitted']>,
  repository: Repository,
  owners: WorktreeOwners,
): Promise<string> {
  if (policy === 'ignore' || repository.top === undefined) return head
  const config = await programsOff(git)
  const changes = await changesOf(git, config)
  if (changes.length === 0) return head
  if (policy === 'refuse')
    throw new WorktreeError(
      'worktree-uncommitted',
      `${repository.top} has uncommitted changes, which a worktree would lack: ${somePaths(changes)}. Commit or stash them first, or set worktree.uncommitted to "ignore" or "snapshot".`,
    )
  return snapshot(git, config, head, { repository: repository.commonDir, owners })
}

/** Paths in which the tree of a folder differs from its last commit. `config`: see `programsOff`. */
export async function changesOf(git: Git, config: readonly Setting[]): Promise<readonly string[]> {
  const args = [
    '--no-optional-locks',
    'status',
    '--porcelain=v1',
    '-z',
    '--untracked-files=normal',
    '--ignore-submodules=dirty',
    '--no-renames',
  ]
  return entriesOf(await git.run(args, { config })).map((entry) => entry.slice(3))
}

/** A commit of everything that is in the caller's tree now, ignored files excepted. Its own index stays as it is. */
async function snapshot(
  git: Git,
  config: readonly Setting[],
  head: string,
  place: ScratchPlace,
): Promise<string> {
  const own = await git.run(['rev-parse', '--path-format=absolute', '--git-path', 'index'])
  return withScratchIndex(place, own.replace(/\n$/u, ''), async (index) => {
    const env = { GIT_INDEX_FILE: index }
    await git.run(['add', '--all', '--', ':/'], { env, config })
    const tree = (await git.run(['write-tree'], { env })).trim()
    const message = 'Uncommitted changes, as an agent was given them'
    return (await git.run(['commit-tree', tree, '-p', head, '-m', message], { env: IDENTITY })).trim()
  })
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'Troupe',
  GIT_AUTHOR_EMAIL: 'troupe@localhost',
  GIT_COMMITTER_NAME: 'Troupe',
  GIT_COMMITTER_EMAIL: 'troupe@localhost',
} as const
