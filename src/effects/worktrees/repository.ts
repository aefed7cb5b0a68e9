/** What is to be known of a repository before a worktree is made in it. */
import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { gitDirNamedIn } from '../git-folder.ts'
import type { Git } from './git.ts'
import { gitFailed, WorktreeError } from './worktree-error.ts'
import type { WorktreePlan } from './worktrees.ts'

/** A repository, seen from one of its trees. All paths absolute, links resolved. */
export interface Repository {
  /** The git folder that all its trees share. */
  readonly commonDir: string
  /** The tree that was asked from; undefined in a bare repository. */
  readonly top: string | undefined
  /** Where its worktrees are put: the main tree, or the folder of a bare repository. */
  readonly root: string
}

/** Looks at the repository of a folder. Rejects with `worktree-no-repository` outside of one. */
export async function findRepository(git: Git): Promise<Repository> {
  const args = [
    'rev-parse',
    '--path-format=absolute',
    '--git-common-dir',
    '--git-dir',
    '--is-inside-work-tree',
    '--show-toplevel',
  ]
  const answer = await git.ask(args)
  const [common, own, isInside, top] = answer.stdout.split('\n')
  if (common === undefined || own === undefined || isInside === undefined) {
    if (/not a git repository/iu.test(answer.stderr)) throw noRepository(git.cwd)
    throw gitFailed(args, git.cwd, answer)
  }
  // The last of the arguments fails where there is no tree.
  if (isInside === 'true' && (answer.exitCode !== 0 || top === undefined))
    throw gitFailed(args, git.cwd, answer)
  const commonDir = realpathSync(common)
  const ownTop = isInside === 'true' && top !== undefined ? realpathSync(top) : undefined
  const isMain = realpathSync(own) === commonDir
  const root = isMain ? ownTop : await mainTreeOf(git, commonDir)
  return { commonDir, top: ownTop, root: root ?? commonDir }
}

/** The main tree, from one that is linked to it. */
async function mainTreeOf(git: Git, commonDir: string): Promise<string | undefined> {
  if (basename(commonDir) === '.git') return dirname(commonDir)
  // A submodule's git folder lies elsewhere and says where its tree is.
  const { stdout } = await git.ask(['config', '--file', join(commonDir, 'config'), '--get', 'core.worktree'])
  const named = stdout.replace(/\n$/u, '')
  if (named === '') return undefined
  const tree = resolve(commonDir, named)
  return existsSync(tree) ? realpathSync(tree) : undefined
}

export const noRepository = (cwd: string): WorktreeError =>
  new WorktreeError(
    'worktree-no-repository',
    `${cwd} is not in a git repository, so there is nothing to make a worktree of. Run "git init" there and commit, set WorktreeCreate and WorktreeRemove hooks that make a folder by other means, or start the agent without isolation.`,
  )

/** The git folder of a linked tree, links resolved; undefined where there is none, or it is another repository's. */
export function gitDirOfTree({
  path,
  repository,
}: Pick<WorktreePlan, 'path' | 'repository'>): string | undefined {
  const named = gitDirNamedIn(path)
  if (named === undefined || !existsSync(named)) return undefined
  const gitDir = realpathSync(named)
  return gitDir.startsWith(join(repository, 'worktrees') + sep) ? gitDir : undefined
}
