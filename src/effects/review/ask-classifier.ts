/**
 * One request to the classifier, on a clock of its own.
 *
 *   A1  It comes to a verdict, or to `unavailable`, within its time: errors, refusals and nonsense reject nothing.
 *   A2  Only the caller's own signal ends it otherwise: then it rejects with the signal's reason, at once.
 *   A3  It costs one request of source `classifier`, tried again as any other within its time.
 */

import { tokensOfText } from '../../definitions/estimate.ts'
import { messageOf } from '../../definitions/message-of.ts'
import type { Question } from '../../definitions/review/question.ts'
import type { Verdict } from '../../definitions/review/verdict.ts'
import { readVerdict, unavailable, VERDICT_TOOL } from '../../definitions/review/verdict.ts'
import type { Usage } from '../../machines/agent/messages.ts'
import type { Clock } from '../clock.ts'
import { checkedReply } from '../model/check-reply.ts'
import type { Model } from '../model/model.ts'
import { collect } from '../model/reply-stream.ts'

/** Who is asked. */
export interface Classifier {
  /** Retries and the provider's gate included. */
  readonly model: Model
  readonly modelId: string
  readonly clock: Pick<Clock, 'now' | 'setTimer'>
  /** Milliseconds for all attempts together. */
  readonly timeoutMs: number
}

/** What asking came to, and what it cost. */
export interface Judgement {
  readonly verdict: Verdict
  /** As the reply names it; with `usage`, when there was a reply. */
  readonly model?: string
  readonly usage?: Usage
  /** Milliseconds. */
  readonly durationMs: number
}

/** `max_tokens` of the request: a verdict and two sentences. */
export const CLASSIFIER_REPLY_TOKENS = 1_024

const VERDICT_TOOL_TOKENS = tokensOfText(JSON.stringify(VERDICT_TOOL))

/** Tokens that asking sends, roughly. */
export const classifierInputTokens = ({ system, prompt }: Question): number =>
  tokensOfText(system) + tokensOfText(prompt) + VERDICT_TOOL_TOKENS

/** Asks. Rejects only with the reason of the signal. */
export async function askClassifier(
  { model, modelId, clock, timeoutMs }: Classifier,
  { system, prompt }: Question,
  signal: AbortSignal,
): Promise<Judgement> {
  signal.throwIfAborted()
  const startedAt = clock.now()
  const abort = new AbortController()
  let hasTimedOut = false
  const cancelTimer = clock.setTimer(timeoutMs, () => {
    hasTimedOut = true
    abort.abort(new Error('the classifier took too long'))
  })
  const onAbort = (): void => abort.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const judged = (verdict: Verdict, more: Pick<Judgement, 'model' | 'usage'> = {}): Judgement => ({
    verdict,
    ...more,
    durationMs: Math.max(0, Math.round(clock.now() - startedAt)),
  })
  try {
    const request = {
      model: modelId,
      system,
      tools: [VERDICT_TOOL],
      messages: [{ role: 'user', content: prompt }],
      maxTokens: CLASSIFIER_REPLY_TOKENS,
      toolChoice: { name: VERDICT_TOOL.name },
      source: 'classifier',
    } as const
    const { reply } = await collect(model.stream(request, abort.signal), abort.signal)
    const checked = checkedReply(reply)
    return judged(readVerdict(checked), { model: checked.model, usage: checked.usage })
  } catch (error) {
    if (hasTimedOut) return judged(unavailable('timeout', `no verdict within ${timeoutMs} ms`))
    if (signal.aborted) throw signal.reason
    return judged(unavailable('error', messageOf(error)))
  } finally {
    cancelTimer()
    signal.removeEventListener('abort', onAbort)
  }
}
