/** Resolves what a run is asked with: servers, tools, prompt, and what the agent is told before its task. */
import { WorktreeError } from '../../effects/worktrees/worktree-error.ts'
import type { EffectInput } from '../../machines/agent/effects.ts'
import type { Fault } from '../../machines/agent/events.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import { startHooks } from '../hooks/start-hooks.ts'
import { introduce, memorySection } from '../introduce.ts'
import { reportSchemaOf, reportSchemaProblems } from '../render.ts'
import { enterWorktree, wantsWorktree } from '../worktree/enter-worktree.ts'
import { isInWorktree } from '../worktree/own-worktree.ts'
import { isReviewed } from './review.ts'
import { withoutSaid } from './without-said.ts'

export function prepare(core: EngineCore): Effect<EffectInput> {
  return async (context) => {
    const { agent } = context
    if (wantsWorktree(agent) || isInWorktree(agent.digest.worktree)) {
      const fault = await worktreeFault(core, agent, context.signal)
      if (fault !== undefined) return [{ type: 'agent.faulted', fault }]
    }
    await agent.equipment.open(() => context.signal)
    const beginning = await startHooks(core, agent, () => context.signal)
    if (beginning.kind === 'refused') return [{ type: 'agent.faulted', fault: beginning.fault }]
    const memory = memorySection(core, agent)
    const { prepared, system, tools } = await agent.session.prompts.prepare(agent, memory)
    agent.prepared = prepared
    for (const { code, message } of reportSchemaProblems(agent)) core.diagnose(code, message)
    const hasSchema = reportSchemaOf(agent) !== undefined
    const corrections = core.limits.reportNudges
    // The root speaks to a person, who asks again if need be.
    const looksAtReport = hasSchema || (agent.parent !== undefined && corrections > 0)
    return withoutSaid(agent, [
      ...(await introduce(core, agent)),
      ...beginning.events,
      {
        type: 'agent.prepared',
        system,
        tools,
        ...(looksAtReport && { report: { hasSchema, corrections } }),
        ...(isReviewed(core, agent) && { review: core.review.isDeferred ? 'deferrable' : (true as const) }),
      },
    ])
  }
}

/** Why the agent has no worktree; undefined: it has one. */
async function worktreeFault(
  core: EngineCore,
  agent: Agent,
  signal: AbortSignal,
): Promise<Fault | undefined> {
  try {
    await enterWorktree(core, agent, signal)
    return undefined
  } catch (error) {
    if (!WorktreeError.is(error)) throw error
    return { code: error.code, message: error.message, retryable: error.code === 'worktree-locked' }
  }
}
