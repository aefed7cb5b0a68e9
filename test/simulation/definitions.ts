/** The kinds of agents of a simulated session, and what the engine is told besides. */
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import type { RetryPolicy } from '../../src/effects/model/retrying.ts'
import type { Plan } from './plan.ts'

/** A tool that a definition names and nobody has. */
export const UNKNOWN_TOOL = 'Gone'

const define = (agentType: string, more: Partial<AgentDefinition>): AgentDefinition => ({
  agentType,
  whenToUse: `work for a ${agentType}`,
  getSystemPrompt: () => `You are a ${agentType}.`,
  source: 'flagSettings',
  ...more,
})

/** The kind of agents that show a plan to whoever started them. */
export const PLANNER = 'planner'

const DEFINITIONS: readonly AgentDefinition[] = [
  define('worker', {}),
  define('reader', { tools: ['Look', 'Agent', UNKNOWN_TOOL], permissionMode: 'plan', maxTurns: 3 }),
  define('wide', { permissionMode: 'bypassPermissions', isOneShot: true }),
]

const PLANS = define(PLANNER, {
  permissionMode: 'plan',
  tools: ['Look', 'Put', 'Act', 'Agent', 'SendMessage', 'ExitPlanMode'],
})

/** Those that begin with what their parent knows, and with what it was told last. */
const HEIRS: readonly AgentDefinition[] = [
  define('heir', { forksParentContext: true }),
  define('listener', { forksParentContext: 'turn' }),
]

/** The kinds that the engine of a session knows. */
export const definitionsFor = ({
  plans,
  forks,
}: Pick<Plan, 'plans' | 'forks'>): readonly AgentDefinition[] => [
  ...DEFINITIONS,
  ...(plans === true ? [PLANS] : []),
  ...(forks === undefined ? [] : HEIRS),
]

export const definitionOf = (agentType: string | undefined): AgentDefinition | undefined =>
  definitionsFor({ plans: true, forks: 'beside' }).find((each) => each.agentType === agentType)

export const RETRIES: RetryPolicy = {
  maxRetries: 2,
  firstByteMs: 60_000,
  gapMs: 120_000,
  baseDelayMs: 500,
  maxDelayMs: 32_000,
}
