/** What makes worktrees, loaded when the first agent wants one. */
import type { ProcessRunner } from '../../effects/process/process-runner.ts'
import type { Worktrees } from '../../effects/worktrees/worktrees.ts'
import type { EngineOptions } from '../api.ts'
import { worktreeOwners } from './worktree-owners.ts'

/** Loads it once. */
export function lazyWorktrees(
  options: Pick<EngineOptions, 'worktree' | 'worktrees' | 'project'>,
  processes: () => ProcessRunner,
): () => Promise<Worktrees> {
  let loading: Promise<Worktrees> | undefined
  const load = async (): Promise<Worktrees> => {
    if (options.worktrees !== undefined) return options.worktrees
    const { createGitWorktrees } = await import('../../effects/worktrees/git-worktrees.ts')
    const owners = worktreeOwners((agentId) => processes().endSurvivors([], [agentId]))
    return createGitWorktrees({ options: { ...options.project?.worktree, ...options.worktree }, owners })
  }
  return () => {
    loading ??= load()
    return loading
  }
}
