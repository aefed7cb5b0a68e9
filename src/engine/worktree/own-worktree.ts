/** What a log says of the worktree of its agent. Pure, and a value that JSON can hold. */
import * as z from 'zod'
import type { WorktreePlan } from '../../effects/worktrees/worktrees.ts'
import type { AgentEvent } from '../../machines/agent/events.ts'
import { WorktreeCreated, WorktreeDecided, WorktreeRequested } from '../../machines/agent/events.ts'
import type { AgentId } from '../../machines/ids.ts'
import type { WorktreeView } from '../api.ts'

/** The worktree that an agent has, is getting or had last. */
export const OwnWorktree = z.strictObject({
  requested: WorktreeRequested,
  /** Absent: nobody has been handed it yet. */
  created: WorktreeCreated.optional(),
  decided: WorktreeDecided.optional(),
  /** It is gone. */
  isRemoved: z.literal(true).optional(),
  /** The agent is not in it any more, though it goes on. */
  isLeft: z.literal(true).optional(),
})
export type OwnWorktree = z.infer<typeof OwnWorktree>

/** After one more event of the log. */
export function worktreeAfter(own: OwnWorktree | undefined, event: AgentEvent): OwnWorktree | undefined {
  if (event.type === 'worktree.requested') return { requested: event }
  if (own === undefined) return undefined
  switch (event.type) {
    case 'worktree.created':
      // Back in one that was kept: what was decided was the end of another run.
      return { requested: own.requested, created: event }
    case 'worktree.decided':
      return { ...own, decided: event }
    case 'worktree.removed':
      return { ...own, isRemoved: true }
    case 'worktree.left':
      return { ...own, isLeft: true }
    default:
      return own
  }
}

/** Where the agent works on account of it; undefined when it does not. */
export function worktreeCwd(own: OwnWorktree | undefined): string | undefined {
  return isInWorktree(own) ? own?.created?.path : undefined
}

/** Whether the agent works in it. Also behind its end: what was kept is where its next run goes on. */
export function isInWorktree(own: OwnWorktree | undefined): boolean {
  return own?.created !== undefined && own.isLeft !== true
}

/** As others see it; undefined when there is none (any more). */
export function worktreeView(own: OwnWorktree | undefined): WorktreeView | undefined {
  if (own?.created === undefined || own.isLeft === true || own.isRemoved === true) return undefined
  return {
    path: own.created.path,
    branch: own.requested.git?.branch,
    fate: own.decided?.fate === 'kept' ? 'kept' : 'in-use',
  }
}

/** The plan that made it; undefined where a hook did. */
export function planOf(agentId: AgentId, { requested }: OwnWorktree): WorktreePlan | undefined {
  const { name, git } = requested
  if (git === undefined) return undefined
  const { path, branch, base, repository } = git
  return { agentId, name, path, branch, base, repository }
}
