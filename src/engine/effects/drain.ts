/** The last effect of a run: waits until nothing of it is left, then records its end. */

import type { OpenCall } from '../../machines/agent/calls.ts'
import type { EffectInput } from '../../machines/agent/effects.ts'
import type { AgentEventOf, RunKey } from '../../machines/agent/events.ts'
import { runName } from '../../machines/agent/run-key.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import type { Effect, EffectContext } from '../effect-logic.ts'
import { CHILD_START } from '../hooks/start-hooks.ts'
import { nextMacrotask } from '../waits.ts'
import { deliverLeftChild } from './delegate.ts'
import { interruptedResult } from './results.ts'
import { lastSteps } from './review.ts'
import { stopMoment } from './stop-hooks.ts'
import { Suspended } from './suspended.ts'

export function drain(core: EngineCore): Effect<EffectInput> {
  return async (effect) => {
    const { agent, self } = effect
    await agent.scope.settled(self)
    // What was on its way may have brought the end with it: then all this is done, and a next run may be on.
    if (effect.isAborted) return []
    await settleChildren(core, effect)
    await agent.session.givenUp.below(agent)
    await agent.equipment.close()
    const context = agent.run?.snapshot.context
    if (context === undefined) return []
    const unanswered = await Promise.all(context.calls.map((call) => closeCall(core, agent, call)))
    // Behind a crash nobody else asks for what was still running then.
    await core.hooks.close(agent)
    // Stop hooks look at each end once: who was killed while they did has seen them.
    const stop = stopMoment(agent)
    const wereAsked = agent.digest.hooks.has(`${stop.event} ${stop.which}`)
    if (!wereAsked && isAnnounced(core, agent) && core.hooks.has(agent, stop))
      return [...unanswered, { type: 'run.drained' }]
    return [...unanswered, ...(await lastSteps(core, agent, context, Math.round(agent.elapsedMs)))]
  }
}

/** Whether there is a start that a stop can be the other half of: a crash may have come before its hooks, then a kill. */
function isAnnounced(core: EngineCore, agent: Agent): boolean {
  if (agent.parent === undefined) return true
  return agent.digest.hooks.has(CHILD_START.event) || !core.hooks.has(agent, CHILD_START)
}

/**
 * Agents in the background of a run that is at its end. They end with one that was killed, unless its kill spares them,
 * and its log says what nobody is told. Otherwise somebody above is told their ends; the root is told with its next
 * prompt. An interrupted giving away goes on where it was: whoever has got the child already keeps it, and tells nothing
 * before it is given up here.
 */
async function settleChildren(core: EngineCore, effect: EffectContext<EffectInput>): Promise<void> {
  const { agent } = effect
  const outcome = agent.run?.snapshot.context.outcome
  if (outcome === undefined) return
  const { session, parent } = agent
  if (outcome.kind === 'killed' && outcome.spares !== 'background') {
    await endChildren(core, effect)
    await session.givenUp.below(agent)
    if (parent !== undefined) await recordUndeliverable(agent)
    return
  }
  if (parent === undefined) return
  for (const { agentId, run } of childrenOnTheirOwn(agent)) {
    const child = { agentId, run }
    try {
      const host = await session.hosts.entrust(agent, child)
      await agent.post({ type: 'child.released', child })
      session.noteNews(host)
    } catch (error) {
      // Nobody above can be told any more: the engine closes, or the root's log is gone.
      if (!(error instanceof Suspended)) throw error
    }
  }
}

/** Ends them, and who is entrusted to the agent meanwhile. */
async function endChildren(core: EngineCore, effect: EffectContext<EffectInput>): Promise<void> {
  const { agent } = effect
  const ended = new Set<string>()
  while (true) {
    const left = childrenOnTheirOwn(agent)
      .map((key) => ({ key, child: core.agents.get(key.agentId) }))
      .filter(({ key, child }) => child !== undefined && !ended.has(runName(key)))
    if (left.length === 0) return
    const begun = left.filter(({ key, child }) => child !== undefined && child.runNumber >= key.run)
    for (const { key } of begun) ended.add(runName(key))
    const kills = begun.map(({ child }) => child?.kill(`agent ${agent.id}`, 'its parent was stopped'))
    // One whose log cannot be written has stopped all the same.
    await Promise.allSettled(kills)
    if (begun.length > 0) continue
    // A message begins their runs, which are on their way to the log: there is nothing to end yet.
    await nextMacrotask()
    effect.signal.throwIfAborted()
  }
}

/**
 * Ends that a killed agent was not told: nobody will be, and its log says so. What they cost counts with it, which is
 * told above; otherwise no sum would ever have it.
 */
async function recordUndeliverable(agent: Agent): Promise<void> {
  const { session } = agent
  for (const { agentId, run } of childrenOnTheirOwn(agent)) {
    const child = { agentId, run }
    const state = await session.ends.stateOf(child)
    if (state.kind === 'running') continue
    const cost = state.kind === 'ended' ? { modelUsage: { ...state.end.end.modelUsage } } : {}
    await agent.post({ type: 'child.released', child, isUndeliverable: true, ...cost })
  }
}

/** Runs whose ends the agent is owed, without those of calls that are still open: these deliver them. */
function childrenOnTheirOwn({ digest, ledger }: Agent): readonly RunKey[] {
  return digest.owed.filter(
    ({ agentId }) => !ledger.open.some(({ started }) => started.child?.agentId === agentId),
  )
}

/** No call is left open: one that got no result of its own is told as interrupted. */
async function closeCall(
  core: EngineCore,
  agent: Agent,
  { callId, name }: OpenCall,
): Promise<AgentEventOf<'call.ended'>> {
  const block = agent.toolUse(callId)
  const started = agent.ledger.get(callId)?.started
  const child = started?.child
  // The call's own effect delivers its child before it ends, if it came so far.
  const delivery = block && child && (await deliverLeftChild(core, agent, callId, block, child.agentId))
  return delivery ?? interruptedResult(callId, block?.id ?? callId, name, started !== undefined)
}
