/** The state of the repository at a moment, for agents. Runs nothing that the repository names. */
import { renderGitStatus } from '../../definitions/context/git-status.ts'
import { findRepositoryRoot, realFolder } from './repository-root.ts'
import { createGitRunner, type GitOutcome, type RunGit } from './run-git.ts'

/** Replaceable parts. */
export interface GitStatusOptions {
  /** Default: git of the search path, in `cwd`. */
  readonly run?: RunGit
  readonly signal?: AbortSignal
}

/**
 * Branch, main branch, changed files and the latest commits as text, at most 40 KB. Undefined outside a repository
 * and where git cannot be asked or refuses (not installed, somebody else's repository). Never rejects.
 */
export async function readGitStatus(
  cwd: string,
  options: GitStatusOptions = {},
): Promise<string | undefined> {
  const root = findRepositoryRoot(cwd)
  if (root === undefined) return undefined
  const { signal } = options
  const run = options.run ?? createGitRunner({ cwd, ...(signal !== undefined && { signal }) })
  const topLevel = await run(['rev-parse', '--show-toplevel'])
  // `core.worktree` of a repository can claim any folder above, whose file names are nobody's business.
  if (topLevel.exitCode !== 0 || realFolder(lineOf(topLevel)) !== root) return undefined
  const filters = await filtersOff(run)
  const [branch, references, status, commits] = await Promise.all([
    run(['symbolic-ref', '--quiet', '--short', 'HEAD']),
    run(['for-each-ref', '--format=%(refname) %(symref)', ...MAIN_REFERENCES]),
    filters === undefined ? undefined : run(STATUS, filters),
    run(['log', '-5', '--no-patch', '--no-decorate', '--no-mailmap', '--format=%h %s']),
  ])
  const hasStatus = status !== undefined && (status.exitCode === 0 || status.isCut)
  return renderGitStatus({
    branch: branch.exitCode === 0 ? lineOf(branch) : undefined,
    mainBranch: references.exitCode === 0 ? mainBranchIn(references.stdout) : undefined,
    status: hasStatus ? status.stdout : undefined,
    isStatusCut: status?.isCut === true,
    // With a plain error there is no commit yet; without an exit code git had no time to answer.
    commits:
      commits.exitCode === 0 || commits.isCut ? commits.stdout : commits.exitCode === null ? undefined : '',
  })
}

// In submodules git would run git, with a configuration that was not looked at.
const STATUS = [
  'status',
  '--porcelain',
  '--untracked-files=normal',
  '--ignore-submodules=dirty',
  '--no-renames',
]

const MAIN_REFERENCES = [
  'refs/remotes/origin/HEAD',
  ...['main', 'master', 'trunk', 'develop'].map((name) => `refs/heads/${name}`),
]

/** More than a sane repository has; each costs two environment variables. */
const MAX_FILTERS = 100

/**
 * Settings that turn off the programs through which `git status` would send changed files, as far as the repository
 * itself names them; the person's own (LFS) stay. Undefined: they cannot be known, so status is not to be run.
 */
async function filtersOff(run: RunGit): Promise<readonly (readonly [string, string])[] | undefined> {
  const listed = await run(['config', '--list', '--null', '--name-only', '--show-scope'])
  if (listed.exitCode !== 0) return undefined
  const fields = listed.stdout.split('\0')
  const names = new Set<string>()
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [scope, key = ''] = [fields[at], fields[at + 1]]
    const name = /^filter\.([\s\S]+)\.[a-z]+$/.exec(key)?.[1]
    if (name !== undefined && (scope === 'local' || scope === 'worktree')) names.add(name)
  }
  if (names.size > MAX_FILTERS) return undefined
  return [...names].flatMap((name) => [
    [`filter.${name}.clean`, ''],
    [`filter.${name}.process`, ''],
    [`filter.${name}.required`, 'false'],
  ])
}

/** What the remote says, else the first usual name that there is. */
function mainBranchIn(references: string): string | undefined {
  const pairs = references.split('\n').map((line) => line.split(' '))
  const remote = pairs.find(([reference]) => reference === MAIN_REFERENCES[0])?.[1]
  if (remote?.startsWith('refs/remotes/origin/')) return remote.slice('refs/remotes/origin/'.length)
  const local = MAIN_REFERENCES.find((wanted) => pairs.some(([reference]) => reference === wanted))
  return local?.startsWith('refs/heads/') ? local.slice('refs/heads/'.length) : undefined
}

const lineOf = ({ stdout }: GitOutcome): string => stdout.replace(/\n$/, '')
