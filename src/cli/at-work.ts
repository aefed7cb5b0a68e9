/** Who is at work, as the terminal asks it. Pure. */
import type { AgentView } from '../engine/api.ts'
import { counted } from './format.ts'

const AT_REST: ReadonlySet<AgentView['phase']> = new Set([
  'awaitingPrompt',
  'idle',
  'suspended',
  'completed',
  'failed',
  'killed',
])

const isAtWork = ({ phase }: AgentView): boolean => !AT_REST.has(phase)

/** The main agents that are at work. */
export const rootsAtWork = (agents: readonly AgentView[]): readonly AgentView[] =>
  agents.filter((agent) => agent.parentAgentId === undefined && isAtWork(agent))

/** Agents at work that nobody waits for. What they wait for themselves is theirs. */
export const backgroundAtWork = (agents: readonly AgentView[]): readonly AgentView[] =>
  agents.filter((agent) => agent.isInBackground && isAtWork(agent))

/** The agents that a main agent waits for: with them in the background it has the word again. */
export const foregroundChildren = (agents: readonly AgentView[]): readonly AgentView[] => {
  const roots = new Set(rootsAtWork(agents).map(({ agentId }) => agentId))
  return agents.filter(
    (agent) =>
      agent.parentAgentId !== undefined &&
      roots.has(agent.parentAgentId) &&
      !agent.isInBackground &&
      isAtWork(agent),
  )
}

/** `1 agent is`, `3 agents are`. */
export const agentsAre = (count: number): string => `${counted(count, 'agent')} ${count === 1 ? 'is' : 'are'}`
