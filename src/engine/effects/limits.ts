/** The limits of one request: may it be made, and may it go on? */
import { LEAST_REPLY_TOKENS } from '../../definitions/budget.ts'
import type { ModelDelta } from '../../effects/model/model.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type { Agent } from '../agent.ts'
import type { Admitted } from '../budget.ts'
import type { EngineCore } from '../core.ts'
import { usedMs } from '../deadline.ts'

/**
 * Whether an agent may make its next request, and with how many tokens for the reply. Waits while requests of others
 * may turn out to leave room for it; rejects with the signal's reason then. `beside`: for a short request beside its
 * turns, which holds its part of the budget under a name of its own.
 */
export async function admitRequest(
  core: EngineCore,
  agent: Agent,
  signal: AbortSignal,
  beside?: { readonly about: string; readonly maxTokens: number },
): Promise<Admitted> {
  const { budget } = agent.session
  const maxTokens = beside?.maxTokens ?? core.maxTokens
  if (agent.isOutOfTime) return { kind: 'refused', event: refusedForTime(core, agent) }
  if (!budget.limits(agent)) return { kind: 'granted', maxTokens }
  const { model } = agent
  // Tokens for thinking are asked for as a number: a shorter reply would have no room for them.
  const leastTokens = typeof agent.birth.plan.effort?.value === 'number' ? maxTokens : LEAST_REPLY_TOKENS
  const inputTokens = await agent.requests.inputTokens()
  const ask = { inputTokens, maxTokens, leastTokens, price: core.modelFacts(model) }
  return budget.admit(agent, ask, model, signal, beside?.about)
}

/** The request is not made, or given up, because the running time is used up. */
export function refusedForTime({ limits }: EngineCore, agent: Agent): AgentEventOf<'budget.refused'> {
  return { type: 'budget.refused', limit: 'time', of: limits.runningMs ?? 0, used: Math.round(usedMs(agent)) }
}

/** A request that is given up when the running time is used up before anything of its reply has come. */
export interface Haste {
  readonly signal: AbortSignal
  /** Whether it was given up. */
  readonly isOver: boolean
  /** Something came. */
  note(delta: ModelDelta): void
  end(): void
}

/** Watches a request. Without a limit of running time it costs nothing. */
export function inTime({ bounds: { deadline } }: Agent, signal: AbortSignal): Haste {
  if (deadline === undefined) return { signal, isOver: false, note: () => {}, end: () => {} }
  const given = new AbortController()
  let hasBegun = false
  let isUp = false
  let isOver = false
  const giveUpIfIdle = (): void => {
    if (!isUp || hasBegun) return
    isOver = true
    given.abort(new Error('the running time of the run is used up'))
  }
  const stopListening = deadline.onExpiry(() => {
    isUp = true
    giveUpIfIdle()
  })
  return {
    signal: AbortSignal.any([signal, given.signal]),
    get isOver() {
      return isOver
    },
    note: ({ type }) => {
      // Another attempt begins with nothing.
      hasBegun = type !== 'restarted' && (hasBegun || type !== 'heartbeat')
      giveUpIfIdle()
    },
    end: stopListening,
  }
}
