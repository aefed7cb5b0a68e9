/**
 * Lines about what an agent is at, asked of its own model beside its turns, on the prefix of its last request.
 *
 *   S1  Nothing of it enters the conversation: the question is in that one request, the answer is one event.
 *   S2  At most one request is in flight. It begins only after an interval in which the agent has made a request.
 *   S3  It counts towards budgets. Refused or failed, it is no fault: there is no line, and another interval begins.
 *   S4  Nothing of it outlives the part of the run before its settling: timer and request end there.
 *   S5  Nothing of it survives a crash: the interval begins again with the next request.
 */
import { envelope } from '../definitions/context/envelope.ts'
import { onOneLine, startOfText } from '../definitions/context/text.ts'
import type { CancelTimer } from '../effects/clock.ts'
import type { ModelRequest, RequestMessage } from '../effects/model/model.ts'
import { collect } from '../effects/model/reply-stream.ts'
import type { AgentEventOf } from '../machines/agent/events.ts'
import { textOf } from '../machines/agent/messages.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import type { EffectAbort } from './effect-scope.ts'
import { admitRequest } from './effects/limits.ts'

/** What the request is held for in the budget. */
const SUMMARY = 'summary'

/** Tokens of a reply: one line, and room for a model that thinks first. */
const MAX_TOKENS = 512
/** Bytes of a line, and so at most as many characters. */
const MAX_LINE = 200

const QUESTION = envelope(
  'system-reminder',
  'Somebody who watches your work wants to know how far it is. Say in one line of at most fifteen words, in plain text, what you are doing at the moment. Do not call any tool. This question is not part of your task: you will not see it or your answer again.',
)

export class ProgressSummaries {
  readonly #core: EngineCore
  readonly #agent: Agent
  /** The last request about which there is no line yet. */
  #last: ModelRequest | undefined
  #cancelTimer: CancelTimer | undefined
  #abort: (() => void) | undefined

  constructor(core: EngineCore, agent: Agent) {
    this.#core = core
    this.#agent = agent
  }

  /** The agent makes a request. */
  note(request: ModelRequest): void {
    this.#last = request
    this.#arm()
  }

  /** Ends the timer, and the request that is in flight. */
  end(): void {
    this.#last = undefined
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#abort?.()
    this.#abort = undefined
  }

  #arm(): void {
    if (this.#last === undefined || this.#cancelTimer !== undefined || this.#abort !== undefined) return
    this.#cancelTimer = this.#core.clock.setTimer(this.#core.limits.progressSummaryMs, () => {
      this.#cancelTimer = undefined
      this.#ask()
    })
  }

  #ask(): void {
    const request = this.#last
    const agent = this.#agent
    if (request === undefined || !agent.isOpen) return
    this.#last = undefined
    const over = (): void => {
      agent.session.budget.release(agent.id, SUMMARY)
      // Another one may have begun since this one was given up.
      if (this.#abort !== abort) return
      this.#abort = undefined
      this.#arm()
    }
    const abort = agent.scope.start(
      'progress summary',
      async (effect) => {
        const event = await this.#line(request, effect)
        if (event === 'failed') {
          if (this.#abort === abort) this.#last ??= request
          return undefined
        }
        return event
      },
      async (event) => {
        // The log has what it cost before the budget lets go of it. One that cannot be written halts its agent.
        if (event !== undefined) await agent.post(event).catch(() => {})
        over()
      },
      // Given up.
      over,
    )
    this.#abort = abort
  }

  async #line(
    request: ModelRequest,
    effect: EffectAbort,
  ): Promise<AgentEventOf<'progress.summarised'> | 'failed' | undefined> {
    const { clock, model } = this.#core
    const agent = this.#agent
    const { signal } = effect
    // Tokens for thinking are asked for as a number: a shorter reply would have no room for them.
    const maxTokens =
      typeof request.effort === 'number' ? this.#core.maxTokens : Math.min(MAX_TOKENS, this.#core.maxTokens)
    let startedAt: number | undefined
    try {
      const admission = await admitRequest(this.#core, agent, signal, { about: SUMMARY, maxTokens })
      if (admission.kind === 'refused' || signal.aborted) return undefined
      startedAt = clock.now()
      const side: ModelRequest = {
        ...request,
        messages: asking(request.messages),
        maxTokens: admission.maxTokens,
        source: 'summary',
      }
      const { reply } = await collect(model.stream(side, signal), signal, () => {})
      const text =
        reply.stop_reason === 'refusal' ? '' : startOfText(onOneLine(textOf(reply.content)), MAX_LINE)
      return { type: 'progress.summarised', text, modelUsage: { [reply.model]: reply.usage } }
    } catch {
      // Whatever a model does with a question that nobody needs answered: the agent's own requests will tell.
      return signal.aborted ? undefined : 'failed'
    } finally {
      if (startedAt !== undefined) agent.notes.addApiTime(clock.now() - startedAt)
    }
  }
}

/** The messages with the question behind them, in the user's message that they end with: roles alternate. */
function asking(messages: readonly RequestMessage[]): readonly RequestMessage[] {
  const question = { type: 'text' as const, text: QUESTION }
  const last = messages.at(-1)
  if (last?.role !== 'user') return [...messages, { role: 'user', content: [question] }]
  const blocks =
    typeof last.content === 'string' ? [{ type: 'text' as const, text: last.content }] : last.content
  return [...messages.slice(0, -1), { ...last, content: [...blocks, question] }]
}
