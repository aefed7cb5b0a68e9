import type { AgentEvent } from '../../../src/machines/agent/events.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { SimulatedTree } from '../worktrees.ts'
import type { Law } from './law.ts'

/**
 * What law 9 says of worktrees: one is asked for in the log before it is begun; nothing with changes is removed; of one
 * without changes nothing remains; nobody works elsewhere than in its own.
 */
export const watchWorktrees: Law['watch'] = ({ disk, worktrees, plan }, broken) => {
  const logOf = ({ plan: { agentId } }: SimulatedTree): ShadowLog | undefined => disk.logs.of(agentId)
  worktrees.onTouch((what, tree) => {
    const { agentId, path } = tree.plan
    const log = logOf(tree)
    if (what === 'begun') {
      if (!eventsOf(log, 'worktree.requested').some(({ git }) => git?.path === path))
        broken(`${path} is begun for ${agentId}, and its log does not know`)
      return
    }
    const events = log?.events.map(({ event }) => event) ?? []
    const decided = events.findLast(({ type }) => type === 'worktree.decided')
    if (worktrees.hasChanges(tree)) broken(`${path} of ${agentId} is removed with the changes in it`)
    if (
      events.some(({ type }) => type === 'worktree.created') &&
      (decided?.type !== 'worktree.decided' || decided.fate !== 'removed')
    )
      broken(`${path} of ${agentId} is removed, and its log does not say so`)
  })
  const onEvent = (agentId: string, path: string, event: AgentEvent): void => {
    const tree = worktrees.treeAt(path)
    switch (event.type) {
      case 'worktree.created':
        if (tree?.state !== 'there' || tree.plan.agentId !== agentId)
          broken(`the log of ${agentId} says that ${path} is there, and it is not`)
        return
      case 'worktree.decided': {
        if (tree === undefined) return
        const isCertain = !event.reasons.some((reason) => /still works in it|could not be/u.test(reason))
        if (isCertain && (event.fate === 'kept') !== worktrees.hasChanges(tree))
          broken(`${path} of ${agentId} is ${event.fate}, whatever is in it: ${event.reasons.join()}`)
        return
      }
      case 'worktree.removed':
        if (tree !== undefined && tree.plan.agentId === agentId)
          broken(`the log of ${agentId} says that ${path} is removed, and it is ${tree.state}`)
        return
      default:
    }
  }
  return {
    onDurable: (log, { event }) => {
      const { agentId } = log
      const path = eventsOf(log, 'worktree.requested').at(-1)?.git?.path
      if (agentId !== undefined && path !== undefined) onEvent(agentId, path, event)
    },
    onBody: ({ agentId, cwd, tool }) => {
      const log = disk.logs.of(agentId)
      if (log?.state.birth?.plan.isolation?.value !== 'worktree') return
      const own = worktrees.treeAt(cwd)
      if (own?.state !== 'there' || own.plan.agentId !== agentId)
        broken(`${tool} of ${agentId} runs in ${cwd}, which is no worktree of its own`)
    },
    onEnd: () => {
      if (plan.diskFaults.length > 0) return
      for (const tree of worktrees.trees) {
        if (tree.state === 'gone' || tree.hasRefusedRemoval) continue
        const { agentId, path } = tree.plan
        const end = eventsOf(logOf(tree), 'agent.ended').at(-1)
        if (tree.state === 'begun') broken(`${path} of ${agentId} is left half done`)
        else if (end?.worktreePath !== path)
          broken(`${path} of ${agentId} remains, and its end does not say so`)
      }
      for (const log of disk.logs.all) {
        const path = eventsOf(log, 'agent.ended').at(-1)?.worktreePath
        if (path !== undefined && worktrees.treeAt(path)?.state !== 'there')
          broken(`the end of ${log.agentId} names ${path}, which is not there`)
      }
    },
  }
}
