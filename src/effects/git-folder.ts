/** Git's own folders, found by reading files: starting git costs more than everything else at start. */
import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { attempt, textAt } from './attempt.ts'

/** The branch that is checked out, `HEAD` when none is; undefined outside of a tree. */
export function readGitBranch(cwd: string): string | undefined {
  const gitDir = upwardsFrom(cwd, gitDirOf)
  const head = gitDir === undefined ? undefined : textAt(join(gitDir, 'HEAD'))?.trim()
  if (head === undefined) return undefined
  return head.startsWith('ref: refs/heads/') ? head.slice('ref: refs/heads/'.length) : 'HEAD'
}

/** The git folder that all trees of a folder's repository share, links resolved; undefined outside of one. */
export function commonDirOf(cwd: string): string | undefined {
  // A bare repository is its own git folder.
  const gitDir = upwardsFrom(cwd, (folder) => gitDirOf(folder) ?? (looksBare(folder) ? folder : undefined))
  if (gitDir === undefined) return undefined
  const named = textAt(join(gitDir, 'commondir'))?.trim()
  return attempt(() => realpathSync(named === undefined ? gitDir : resolve(gitDir, named)))
}

/** What the `.git` file of a linked worktree or a submodule names; undefined where it is no file, or says nothing. */
export function gitDirNamedIn(folder: string): string | undefined {
  const named = textAt(join(folder, '.git'))?.match(/^gitdir: (.+)$/mu)?.[1]
  return named === undefined ? undefined : resolve(folder, named)
}

/** The git folder of the tree whose root a folder is. */
function gitDirOf(folder: string): string | undefined {
  const dotGit = join(folder, '.git')
  const kind = attempt(() => statSync(dotGit))
  if (kind?.isDirectory() === true) return existsSync(join(dotGit, 'HEAD')) ? dotGit : undefined
  return kind?.isFile() === true ? gitDirNamedIn(folder) : undefined
}

const looksBare = (folder: string): boolean =>
  ['HEAD', 'objects', 'refs'].every((name) => existsSync(join(folder, name)))

/** What `look` finds in the nearest folder from `cwd` upwards. */
function upwardsFrom<T>(cwd: string, look: (folder: string) => T | undefined): T | undefined {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const found = look(folder)
    if (found !== undefined || dirname(folder) === folder) return found
  }
}
