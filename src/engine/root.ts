/** Births of agents that no agent asked for: the root that a user talks to, and what a host spawns. */
import type { SpawnSituation } from '../definitions/routing.ts'
import { routeSpawn } from '../definitions/routing.ts'
import type { AgentEventOf } from '../machines/agent/events.ts'
import type { AgentId } from '../machines/ids.ts'
import type { SpawnInput } from './api.ts'
import type { EngineCore } from './core.ts'
import { EngineError } from './errors.ts'
import { loggedPlan } from './logged-plan.ts'
import { VERSION } from './version.ts'

/** Type of the root agent. No definition has it, so no call can ask for it. */
export const ROOT_TYPE = 'main'

type Birth = AgentEventOf<'agent.spawned'>

/** The birth of the agent that a user talks to. */
export function rootBirth(core: EngineCore, agentId: AgentId): Birth {
  const { modelId, mode } = core.root
  return {
    type: 'agent.spawned',
    agentId,
    depth: 0,
    plan: {
      agentType: ROOT_TYPE,
      description: 'main agent',
      model: { value: core.resolveModelId(modelId), rule: 'engine option modelId' },
      mode: { value: mode, rule: 'engine option permissions.mode' },
      cwd: core.cwd,
    },
    session: sessionFacts(core),
  }
}

/** The birth of an agent that a host with its own loop spawns. Throws an `EngineError` when it is refused. */
export function hostBirth(core: EngineCore, agentId: AgentId, input: SpawnInput): Birth {
  const { prompt: _, ...call } = input
  // The host stands one level above the agent, so that the agent is at depth 0.
  const routed = routeSpawn({ ...agentInputOf(call), prompt: input.prompt }, hostSituation(core))
  if (routed.kind === 'refused') throw new EngineError(routed.code, routed.message)
  return {
    type: 'agent.spawned',
    agentId,
    depth: 0,
    plan: { ...loggedPlan(routed.plan, undefined), cwd: core.cwd },
    session: sessionFacts(core),
  }
}

function agentInputOf({ description, subagent_type, model }: Omit<SpawnInput, 'prompt'>) {
  return {
    description,
    ...(subagent_type !== undefined && { subagent_type }),
    ...(model !== undefined && { model }),
  }
}

function hostSituation(core: EngineCore): SpawnSituation {
  return {
    definitions: core.definitions,
    caller: { depth: -1, mode: core.root.mode, model: core.root.modelId },
    policy: {
      limits: core.limits,
      live: core.agents.size,
      spawns: 0,
      denyRules: core.rules.deny,
      resolveModelId: core.resolveModelId,
    },
  }
}

/** Values in force for the session: what a resume must decide alike. */
function sessionFacts(core: EngineCore): Record<string, unknown> {
  return { troupe: VERSION, limits: core.limits }
}
