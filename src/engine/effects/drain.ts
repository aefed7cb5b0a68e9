/** The last effect of a run: waits until nothing of it is left, then records its end. */

import type { OpenCall } from '../../machines/agent/calls.ts'
import { endOf } from '../../machines/agent/context.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type { EffectInput } from '../../machines/agent/machine.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import { deliverLeftChild } from './delegate.ts'
import { interruptedResult } from './results.ts'
import { stopMoment } from './stop-hooks.ts'

export function drain(core: EngineCore): Effect<EffectInput> {
  return async ({ agent, self }) => {
    await agent.scope.settled(self)
    await agent.unequip()
    // A command can leave its process group; whatever it left carries the agent's mark.
    if (agent.hasRunProcesses) await core.processes.endSurvivors([], [agent.id])
    const context = agent.run?.snapshot.context
    if (context === undefined) return []
    const unanswered = await Promise.all(context.calls.map((call) => closeCall(core, agent, call)))
    // Stop hooks look at each end once: who was killed while they did has seen them.
    const stop = stopMoment(agent)
    const wereAsked = agent.digest.hooks.has(`${stop.event} ${stop.which}`)
    if (!wereAsked && core.hooks.has(agent, stop)) return [...unanswered, { type: 'run.drained' }]
    return [...unanswered, endOf(context, Math.round(agent.elapsedMs))]
  }
}

/** No call is left open: one that got no result of its own is told as interrupted. */
async function closeCall(
  core: EngineCore,
  agent: Agent,
  { callId, name }: OpenCall,
): Promise<AgentEventOf<'call.ended'>> {
  const block = agent.toolUse(callId)
  const started = agent.ledger.get(callId)?.started
  const child = started?.child && core.agents.get(started.child.agentId)
  // Only after a restart: the call's own effect delivers its child before it ends.
  const delivery = block && child && (await deliverLeftChild(agent, callId, block, child))
  return delivery ?? interruptedResult(callId, block?.id ?? callId, name, started !== undefined)
}
