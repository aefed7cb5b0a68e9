/** Agents as others see them, and who has started whom. */
import type { TaskStatus } from '../effects/tools/agents/agents-port.ts'
import { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import { worktreeView } from './worktree/own-worktree.ts'

/** An agent as others see it. */
export function statusOf(agent: Agent): TaskStatus {
  const { plan, parent } = agent.birth
  const context = agent.run?.snapshot.context
  const worktree = worktreeView(agent.digest.worktree)
  return {
    taskId: agent.id,
    ...(plan.name !== undefined && { name: plan.name }),
    agentType: plan.agentType,
    description: plan.description,
    status: agent.isRunning
      ? agent.phase$.value === 'waiting'
        ? 'waiting'
        : 'running'
      : (agent.digest.ended?.status ?? 'suspended'),
    isBackgrounded: agent.isInBackground,
    turns: context?.turns ?? 0,
    toolUses: context?.toolUses ?? 0,
    tokens: agent.digest.task.tokenCount,
    lastActivities: agent.digest.task.activities,
    ...(agent.digest.task.summary !== undefined && { summary: agent.digest.task.summary }),
    pendingMessages: agent.digest.mail.length,
    ...(worktree !== undefined && { worktreePath: worktree.path }),
    ...(worktree?.branch !== undefined && { worktreeBranch: worktree.branch }),
    parentId: parent?.agentId,
  }
}

/** Whether `upper` has started the agent, or whoever did. Only then may it stop it. */
export function isBelow(agent: Agent, upper: Agent): boolean {
  for (let above = agent.parent; above !== undefined; above = above.parent)
    if (above.id === upper.id) return true
  return false
}

/** Why an agent that is not below may not be stopped, or asked to stop. */
export const notBelow = (taskId: string): string =>
  `Agent ${taskId} is none that you have started, so you cannot stop it.`

/** Whom an agent means; undefined: nobody. */
export function addressee(caller: Agent, to: string): AgentId | undefined {
  if (to === 'parent') return caller.parent?.id
  if (to === 'main') return caller.session.root.id
  const id = AgentId.safeParse(to)
  return id.success ? id.data : caller.session.names.holderOf(to)
}
