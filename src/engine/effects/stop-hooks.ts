/** The stop hooks of a run that has drained: they may send the agent back to work, or it ends. */
import { stopContinuation } from '../../definitions/hooks/stop-continuation.ts'
import { hasChoice } from '../../machines/agent/context.ts'
import type { EffectInput } from '../../machines/agent/effects.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import type { HookMoment } from '../hooks/engine-hooks.ts'
import { hookMessages } from '../hooks/engine-hooks.ts'
import { lastSteps } from './review.ts'
import { withoutSaid } from './without-said.ts'

export function stopHooks(core: EngineCore): Effect<EffectInput> {
  return async (effect) => {
    const { agent } = effect
    const context = agent.run?.snapshot.context
    if (context === undefined) return []
    // The run's own time, without that of the hooks.
    const durationMs = Math.round(agent.elapsedMs)
    const last = () => lastSteps(core, agent, context, durationMs)
    const decision = await core.hooks.decide(agent, stopMoment(agent), () => effect.signal)
    const { outcome, stopBlocks: blocks } = context
    if (decision?.verdict !== 'block' || decision.stop !== undefined || outcome === undefined) return last()
    if (!hasChoice(outcome)) return last()
    const event = agent.parent === undefined ? 'Stop' : 'SubagentStop'
    const continuation = stopContinuation({ event, blocks, cap: core.limits.stopBlocks })
    if (continuation.kind === 'end') {
      core.diagnose('stop-blocks-reached', `agent ${agent.id}: ${continuation.notice}`)
      return last()
    }
    return withoutSaid(agent, [
      ...hookMessages(decision.reasons),
      {
        type: 'message.added',
        about: 'stop',
        content: continuation.instruction,
        origin: { from: 'engine' },
      },
      { type: 'stop.blocked', ...(agent.parent !== undefined && { keepsReport: true as const }) },
    ])
  }
}

/** The moment at which an agent stops: each time anew. */
export function stopMoment(agent: Agent): HookMoment<'Stop'> | HookMoment<'SubagentStop'> {
  const blocks = agent.run?.snapshot.context.stopBlocks ?? 0
  const which = String(blocks)
  const last = agent.digest.reportText
  const facts = {
    stop_hook_active: blocks > 0,
    ...(last !== '' && { last_assistant_message: last }),
  }
  return agent.parent === undefined
    ? { event: 'Stop', which, facts }
    : { event: 'SubagentStop', which, facts: { ...facts, agent_transcript_path: agent.logPath } }
}
