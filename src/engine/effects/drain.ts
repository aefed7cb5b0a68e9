/** The last effect of a run: waits until nothing of it is left, then records its end. */

import type { OpenCall } from '../../machines/agent/calls.ts'
import { endOf } from '../../machines/agent/context.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type { EffectInput } from '../../machines/agent/machine.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import { interruptedResult } from './results.ts'

export function drain(core: EngineCore): Effect<EffectInput> {
  return async ({ agent, self }) => {
    await agent.scope.settled(self)
    // A command can leave its process group; whatever it left carries the agent's mark.
    if (agent.hasRunProcesses) await core.processes.endSurvivors([], [agent.id])
    const context = agent.run?.snapshot.context
    if (context === undefined) return []
    const unanswered = context.calls.map((call) => closeCall(agent, call))
    return [...unanswered, endOf(context, Math.round(agent.elapsedMs))]
  }
}

/** No call is left open: one that got no result of its own is told as interrupted. */
function closeCall(agent: Agent, { callId, name }: OpenCall): AgentEventOf<'call.ended'> {
  const toolUseId = agent.conversation.toolUse(callId)?.id ?? callId
  return interruptedResult(callId, toolUseId, name, agent.ledger.get(callId) !== undefined)
}
