/**
 * Whether a worktree is removed or kept when its agent has ended. Pure: from what was found to the decision.
 *
 *   T1  Kept if removing it would lose anything: changes, new files, commits, or what cannot be known.
 *   T2  What the engine put there itself (links, copies) does not count while it is as it was made.
 *   T3  Ignored files do not count, unless `keepIgnored`.
 *   T4  In doubt it is kept.
 */

/** What was found in a worktree. Lists may be cut; their lengths are not what decides. */
export interface WorktreeFacts {
  /** `gone`: there is no folder any more, so there is nothing to lose in it. */
  readonly folder: 'there' | 'gone'
  /** Changed and untracked paths, without what the engine put there and nobody touched. */
  readonly changed: readonly string[]
  /** Of what the engine put there, what is not as it was made. */
  readonly touched: readonly string[]
  /** Ignored paths; looked for only where they count. */
  readonly ignored: readonly string[]
  /** Commits on its branch or at its HEAD since it was made. */
  readonly commits: number
  /** A commit that only the log of its HEAD still knows. */
  readonly unreachable: string | undefined
  /** What speaks against removing it and is none of the above, in words. */
  readonly doubts: readonly string[]
}

/** What becomes of it, and why. */
export interface WorktreeDecision {
  readonly kind: 'keep' | 'remove'
  /** In words, for people and models. Never empty. */
  readonly reasons: readonly string[]
}

/** Decides. Ignored paths must be among the facts only where they count. */
export function decideWorktree(facts: WorktreeFacts): WorktreeDecision {
  const { changed, touched, ignored, commits, unreachable, doubts } = facts
  const reasons = [
    changed.length > 0 ? `uncommitted changes: ${somePaths(changed)}` : undefined,
    touched.length > 0 ? `changed since they were copied or linked there: ${somePaths(touched)}` : undefined,
    ignored.length > 0 ? `ignored files, which count here: ${somePaths(ignored)}` : undefined,
    commits > 0 ? `${commits} ${commits === 1 ? 'commit' : 'commits'} since it was made` : undefined,
    unreachable === undefined
      ? undefined
      : `commit ${unreachable.slice(0, 12)} is on no branch: only the log of its HEAD knows it`,
    ...doubts,
  ].filter((reason) => reason !== undefined)
  if (reasons.length > 0) return { kind: 'keep', reasons }
  return {
    kind: 'remove',
    reasons: [facts.folder === 'gone' ? 'its folder is gone' : 'nothing in it was changed'],
  }
}

const SHOWN = 10

/** The first of them, and how many more there are. */
export function somePaths(paths: readonly string[]): string {
  const shown = paths.slice(0, SHOWN).join(', ')
  return paths.length > SHOWN ? `${shown} and ${paths.length - SHOWN} more` : shown
}
