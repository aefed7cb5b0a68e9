/**
 * What a command of an agent may write: the working directories of its agent and what git needs for a commit there, without
 * what could widen anything (`PROTECTED_NAMES`).
 *
 *   W1  Protected is what lies at the top of a folder that may be written, whether it is there yet or not, and our own
 *       records wherever they are. In a git folder: its settings and hooks, and the git folders of other trees and
 *       submodules.
 *   W2  A linked worktree writes in its own git folder and to the objects, references and logs that all trees share. A
 *       `.git` file that names somebody else's folder gives nothing: that folder must name the tree in turn.
 *   W3  A folder in whose protected part the agent works (a worktree below `.claude`) cannot be written: protecting it would
 *       take the working directory, too.
 *   W4  What must not be made is held by an empty folder while commands run, never by an empty file: git, of which others
 *       here make use meanwhile, does not see it.
 */
import { existsSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { PROTECTED_NAMES } from '../../definitions/permissions/protected-names.ts'
import type { SandboxPlan } from '../../definitions/sandbox/options.ts'
import { attempt, textAt } from '../attempt.ts'
import { gitDirNamedIn } from '../git-folder.ts'
import { isInside } from '../tools/confinement.ts'
import type { SandboxFiles } from './sandbox-manager.ts'

/** Where a command runs. Absolute paths, links resolved. */
export interface SandboxPlace {
  /** The working directory of its agent. */
  readonly cwd: string
  /** Further folders that its agent works in. */
  readonly writableRoots: readonly string[]
  /** For temporary files. */
  readonly temp: string
  /** Never written: our records, the person's settings. */
  readonly records: readonly string[]
}

/** Looks at the disk, for git's folders. */
export function writeAccessOf(
  { cwd, writableRoots, temp, records }: SandboxPlace,
  plan: Pick<SandboxPlan, 'allowWrite' | 'denyWrite' | 'denyRead'>,
): SandboxFiles {
  const git = gitAccessOf(cwd)
  const roots = [...new Set([cwd, ...writableRoots, ...plan.allowWrite])].map((root) => ({
    root,
    closed: closedIn(root),
  }))
  const open = roots.filter(({ closed }) => !closed.some((path) => isInside(path, cwd)))
  return {
    allowWrite: [...open.map(({ root }) => root), ...git.allow, temp],
    denyWrite: [
      ...new Set([...open.flatMap(({ closed }) => closed), ...git.deny, ...records, ...plan.denyWrite]),
    ],
    denyRead: [...plan.denyRead],
  }
}

/** What of a folder that may be written is not. */
function closedIn(root: string): readonly string[] {
  const names = [...PROTECTED_NAMES].flatMap((name) => {
    const path = join(root, name)
    if (name !== '.git') return neverMade(path)
    const kind = attempt(() => statSync(path))
    if (kind === undefined) return neverMade(path)
    return kind.isDirectory() ? closedInGit(path) : [path]
  })
  return looksLikeGit(root) ? [...names, ...closedInGit(root)] : names
}

/** What could make git run something, or lead it to another repository. */
const closedInGit = (gitDir: string): readonly string[] => [
  join(gitDir, 'config'),
  join(gitDir, 'config.worktree'),
  ...['hooks', 'modules', 'worktrees'].flatMap((name) => neverMade(join(gitDir, name))),
]

interface GitAccess {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
}

const NONE: GitAccess = { allow: [], deny: [] }

/** What a commit in the tree of a folder needs besides the tree (W2). */
function gitAccessOf(cwd: string): GitAccess {
  const tree = treeOf(cwd)
  if (tree === undefined) return NONE
  const dotGit = join(tree, '.git')
  if (attempt(() => statSync(dotGit))?.isDirectory() === true)
    return looksLikeGit(dotGit) ? { allow: [dotGit], deny: closedInGit(dotGit) } : NONE
  const named = gitDirNamedIn(tree)
  const gitDir = named === undefined ? undefined : attempt(() => realpathSync(named))
  if (gitDir === undefined) return NONE
  const commonDir = dirname(dirname(gitDir))
  const isOurs =
    basename(dirname(gitDir)) === 'worktrees' &&
    looksLikeGit(commonDir) &&
    leadsTo(gitDir, 'commondir', commonDir) &&
    leadsTo(gitDir, 'gitdir', dotGit)
  if (!isOurs) return NONE
  return {
    allow: [gitDir, ...['objects', 'refs', 'logs'].map((name) => join(commonDir, name))],
    deny: [...['commondir', 'gitdir', 'config.worktree'].map((name) => join(gitDir, name)), dotGit],
  }
}

/** The nearest folder with a `.git`. */
function treeOf(cwd: string): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder
    if (dirname(folder) === folder) return undefined
  }
}

/** Whether a file of a git folder names a path. */
function leadsTo(gitDir: string, file: string, path: string): boolean {
  const named = textAt(join(gitDir, file))?.trim()
  return (
    named !== undefined &&
    attempt(() => realpathSync(resolve(gitDir, named))) === attempt(() => realpathSync(path))
  )
}

const looksLikeGit = (folder: string): boolean =>
  ['HEAD', 'objects', 'refs'].every((name) => existsSync(join(folder, name)))

/** A path that, where it is not there, is held by an empty folder (W4): something in it is forbidden, too. */
const neverMade = (path: string): readonly string[] => [path, join(path, 'nothing')]
