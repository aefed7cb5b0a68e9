/** A live agent as others may see it. */
import type { Agent } from './agent.ts'
import type { AgentView } from './api.ts'
import { totalOf } from './tree-usage.ts'
import { worktreeView } from './worktree/own-worktree.ts'

export function viewOf(agent: Agent): AgentView {
  const { plan, depth } = agent.birth
  const context = agent.run?.snapshot.context
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
    lastActivity: agent.activities.at(-1),
    worktree: worktreeView(agent.digest.worktree),
  }
}
