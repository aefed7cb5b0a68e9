/** A live agent as others may see it. */
import type { Agent } from './agent.ts'
import type { AgentView } from './api.ts'
import type { Telling } from './task-ledger.ts'
import { totalOf } from './tree-usage.ts'
import { worktreeView } from './worktree/own-worktree.ts'

export function viewOf(agent: Agent): AgentView {
  const { plan, depth } = agent.birth
  const context = agent.run?.snapshot.context
  const { task } = agent.digest
  return {
    sessionId: agent.session.id,
    agentId: agent.id,
    agentType: plan.agentType,
    name: plan.name,
    description: plan.description,
    parentAgentId: agent.parent?.id,
    depth,
    phase: agent.phase$.value,
    isInBackground: agent.isInBackground,
    turns: context?.turns ?? 0,
    toolUses: context?.toolUses ?? 0,
    totalUsage: totalOf(agent.modelUsage),
    lastActivity: task.activities.at(-1),
    worktree: worktreeView(agent.digest.worktree),
    run: agent.runNumber,
    status: taskStatusOf(agent),
    toolUseId: agent.birth.parent?.toolUseId,
    startedAt: task.startedAt,
    endedAt: task.endedAt,
    why: task.why,
    tokenCount: task.tokenCount,
    recentActivities: task.activities,
    summary: task.summary,
    pendingMessages: agent.digest.mail.length,
    outputFile: agent.parent === undefined ? undefined : agent.outputFile,
    ...tellingOf(howTold(agent)),
  }
}

/** By the log; of a run that is on, whether it waits for others. */
function taskStatusOf(agent: Agent): AgentView['status'] {
  const { status } = agent.digest.task
  return status === 'running' && agent.phase$.value === 'waiting' ? 'waiting' : status
}

/** The same for a view of an agent that is not at hand any more. */
export const tellingOf = (how: Telling | undefined): Pick<AgentView, 'notified' | 'retrieved'> => ({
  notified: how === 'notified',
  retrieved: how === 'retrieved',
})

/** How the end of its last run reached whoever was owed it: its parent, or who took that upon itself. */
function howTold({ id, runNumber: run, parent }: Agent): Telling | undefined {
  for (let above = parent; above !== undefined; above = above.parent) {
    const how = above.digest.task.howTold({ agentId: id, run })
    if (how !== undefined) return how
  }
  return undefined
}
