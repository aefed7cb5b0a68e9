/** Who owns a worktree: processes, told apart as the owners of sessions are. */

import type { WorktreeOwners } from '../../effects/worktrees/worktrees.ts'
import { ProcessIdentity, thisProcess, whereaboutsOf } from '../../journal/process-identity.ts'
import { acquireSessionLock, SessionLockedError } from '../../journal/session-lock.ts'

/** Owners that are processes. `endSurvivors` ends what a dead one left of an agent. */
export function worktreeOwners(endSurvivors: (agentId: string) => Promise<unknown>): WorktreeOwners {
  const self = thisProcess()
  return {
    self: () => self,
    whereabouts(owner) {
      const other = ProcessIdentity.safeParse(owner)
      // Who cannot be read cannot be told to be dead.
      return other.success ? whereaboutsOf(other.data, self) : 'elsewhere'
    },
    lock(path) {
      try {
        return acquireSessionLock(path, { engine: 'worktrees', startedAt: Date.now() })
      } catch (error) {
        if (!SessionLockedError.is(error)) throw error
        const { owner } = error
        return {
          heldBy:
            owner === undefined ? 'a lock that cannot be read' : `process ${owner.pid} on ${owner.host}`,
        }
      }
    },
    async endSurvivors(agentId) {
      await endSurvivors(agentId)
    },
  }
}
