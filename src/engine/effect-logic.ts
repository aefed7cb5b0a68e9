/**
 * The one wrapper around all effects: from a callback actor of XState to an async function with a signal.
 *
 *   E1  An effect never answers its machine: it returns its outcome as events, and they go through the mailbox,
 *       success and failure alike.
 *   E2  Nothing escapes: a throw inside a bare callback actor would put the agent in `error` without a line in
 *       its log. Here it becomes `agent.faulted`.
 *   E3  Once the outcome is posted, the abort that XState sends when the state is left finds nothing to abort.
 *   E4  Every effect is in its agent's scope until it has really ended, so that draining can wait for it.
 */
import type { CallbackActorLogic } from 'xstate'
import { fromCallback } from 'xstate'
import type { EffectInput } from '../machines/agent/effects.ts'
import type { EventDraft, RunEvent } from '../machines/agent/events.ts'
import type { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { EffectAbort } from './effect-scope.ts'

/** What an effect is given besides its ids. */
export interface EffectContext<I extends EffectInput> {
  readonly input: I
  readonly agent: Agent
  readonly signal: AbortSignal
  /** Whether the signal is aborted, for whoever needs none. */
  readonly isAborted: boolean
  /** This effect in its agent's scope. */
  readonly self: symbol
}

/** Does its work and returns what came of it: the events to post, together and last. */
export type Effect<I extends EffectInput> = (context: EffectContext<I>) => Promise<readonly EventDraft[]>

/** A class for its getters: an object literal with getters is one of V8's slow ones, and each effect makes one. */
class RunningEffect<I extends EffectInput> implements EffectContext<I> {
  readonly input: I
  readonly agent: Agent
  readonly self: symbol
  readonly #abort: EffectAbort

  constructor(input: I, agent: Agent, abort: EffectAbort, self: symbol) {
    this.input = input
    this.agent = agent
    this.self = self
    this.#abort = abort
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get isAborted(): boolean {
    return this.#abort.isAborted
  }
}

/** Makes actor logic of an effect. `agents` is where the ids of the input are looked up. */
export function effectLogic<I extends EffectInput>(
  name: string,
  agents: ReadonlyMap<AgentId, Agent>,
  effect: Effect<I>,
): CallbackActorLogic<RunEvent, I> {
  return fromCallback<RunEvent, I>(({ input }) => {
    const agent = agents.get(input.agentId)
    // Not in the directory: the agent was let go in this very step; there is nobody to work for.
    if (agent === undefined) return
    return agent.scope.start(
      name,
      (abort, self) => effect(new RunningEffect(input, agent, abort, self)),
      (outcome) => agent.post(...outcome),
      (error) => agent.fault(error, `effect ${name}`),
    )
  })
}
