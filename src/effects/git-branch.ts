/** The git branch of a folder, read from files: starting git costs more than everything else at start. */
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** The branch that is checked out, `HEAD` when none is; undefined outside a repository. */
export function readGitBranch(cwd: string): string | undefined {
  const gitDir = findGitDir(cwd)
  if (gitDir === undefined) return undefined
  const head = readText(join(gitDir, 'HEAD'))?.trim()
  if (head === undefined) return undefined
  return head.startsWith('ref: refs/heads/') ? head.slice('ref: refs/heads/'.length) : 'HEAD'
}

function findGitDir(folder: string): string | undefined {
  const dotGit = join(folder, '.git')
  if (readText(join(dotGit, 'HEAD')) !== undefined) return dotGit
  // A linked worktree or a submodule has a file that points elsewhere.
  const link = readText(dotGit)?.match(/^gitdir: (.+)$/m)?.[1]
  if (link !== undefined) return resolve(folder, link)
  const above = dirname(folder)
  return above === folder ? undefined : findGitDir(above)
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
