/** What goes wrong with worktrees: which command, what git said, and what to do. */

export type WorktreeErrorCode =
  | 'worktree-no-repository'
  | 'worktree-no-commits'
  | 'worktree-uncommitted'
  | 'worktree-taken'
  | 'worktree-place'
  | 'worktree-base-gone'
  | 'worktree-locked'
  | 'worktree-git-failed'
  | 'worktree-hook-failed'
  | 'worktree-unknown'
  | 'worktree-not-merged'

/** A worktree could not be made, looked at or removed. */
export class WorktreeError extends Error {
  override readonly name = 'WorktreeError'
  readonly code: WorktreeErrorCode

  constructor(code: WorktreeErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }

  static is(value: unknown): value is WorktreeError {
    return value instanceof Error && value.name === 'WorktreeError'
  }
}

/** The error of a git command that failed. */
export function gitFailed(args: readonly string[], cwd: string, answer: GitFailure): WorktreeError {
  const said = answer.stderr.trim().slice(0, 2_000) || `exit code ${answer.exitCode}`
  const known = ADVICE.find(({ pattern }) => pattern.test(said))
  const advice = known === undefined ? '' : ` ${known.advice(said)}`
  return new WorktreeError('worktree-git-failed', `git ${args.join(' ')} failed in ${cwd}: ${said}${advice}`)
}

/** What git answered when it failed. */
export interface GitFailure {
  readonly exitCode: number
  readonly stderr: string
}

const ADVICE: readonly { readonly pattern: RegExp; readonly advice: (said: string) => string }[] = [
  {
    pattern: /unable to create '[^']*\.lock': File exists|could not lock config file/iu,
    advice: (said) => {
      const lock = /'([^']*\.lock)'/u.exec(said)?.[1]?.replace('/./', '/') ?? 'the .lock file that it names'
      return `Another git process is at work there, or one that died left its lock. If none runs (ps, your editor), delete ${lock} and try again.`
    },
  },
  {
    pattern: /dubious ownership/iu,
    advice: () =>
      'The repository belongs to somebody else, and git does not touch it. If you trust it, add it to safe.directory (git config --global --add safe.directory PATH).',
  },
  {
    pattern: /no space left/iu,
    advice: () => 'The disk is full: free some space and try again. Nothing that was there was changed.',
  },
  {
    pattern: /permission denied|read-only file system/iu,
    advice: () => 'Correct the permissions of the folder that it names.',
  },
  {
    pattern: /transport '[^']*' not allowed|promisor|missing blob|unable to read (?:tree|sha1)/iu,
    advice: () =>
      'Objects are missing in this clone (a partial one, or a damaged one), and they are not fetched while a worktree is made. Fetch them first: git fetch --refetch, or git fsck to see what is missing.',
  },
  {
    pattern: /not a git repository/iu,
    advice: () => 'The repository is not there any more, or its .git is damaged.',
  },
  {
    pattern: /is not a commit|invalid reference|bad object|unknown revision/iu,
    advice: () => 'The commit is not in the repository (any more).',
  },
  {
    pattern: /file name too long/iu,
    advice: () => 'The path of the repository is too long for the files in it; move it further up.',
  },
]
