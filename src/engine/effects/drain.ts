/** The last effect of a run: waits until nothing of it is left, then records its end. */

import type { OpenCall } from '../../machines/agent/calls.ts'
import { hasChoice } from '../../machines/agent/context.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type { EffectInput } from '../../machines/agent/machine.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import { isSameRun } from '../log-digest.ts'
import { deliverLeftChild } from './delegate.ts'
import { interruptedResult } from './results.ts'
import { lastSteps } from './review.ts'
import { stopMoment } from './stop-hooks.ts'

export function drain(core: EngineCore): Effect<EffectInput> {
  return async ({ agent, self }) => {
    await agent.scope.settled(self)
    await settleChildren(core, agent)
    await agent.unequip()
    // A command can leave its process group; whatever it left carries the agent's mark.
    if (agent.hasRunProcesses) await core.processes.endSurvivors([], [agent.id])
    const context = agent.run?.snapshot.context
    if (context === undefined) return []
    const unanswered = await Promise.all(context.calls.map((call) => closeCall(core, agent, call)))
    // Behind a crash nobody else asks for what was still running then.
    await core.hooks.close(agent)
    // Stop hooks look at each end once: who was killed while they did has seen them.
    const stop = stopMoment(agent)
    const wereAsked = agent.digest.hooks.has(`${stop.event} ${stop.which}`)
    if (!wereAsked && core.hooks.has(agent, stop)) return [...unanswered, { type: 'run.drained' }]
    return [...unanswered, ...(await lastSteps(core, agent, context, Math.round(agent.elapsedMs)))]
  }
}

/**
 * Agents in the background of a run that did not end by its own choice: they end with one that was killed. Otherwise
 * somebody above is told their ends; the root is told with its next prompt.
 */
async function settleChildren(core: EngineCore, agent: Agent): Promise<void> {
  const outcome = agent.run?.snapshot.context.outcome
  const { owed } = agent.digest
  if (owed.length === 0 || outcome === undefined) return
  if (outcome.kind === 'killed') {
    if (outcome.spares === 'background') return
    const live = owed.map(({ agentId }) => core.agents.get(agentId)).filter((child) => child !== undefined)
    await Promise.all(live.map((child) => child.kill(`agent ${agent.id}`, 'its parent was stopped')))
    return
  }
  if (hasChoice(outcome) || agent.parent === undefined) return
  const host = agent.session.hostOf(agent)
  for (const { agentId, run } of owed) {
    const child = { agentId, run }
    if (!host.digest.owed.some((key) => isSameRun(key, child)))
      await host.post({ type: 'child.launched', child })
    await agent.post({ type: 'child.released', child })
  }
  if (!host.isRunning) agent.session.goOn()
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
