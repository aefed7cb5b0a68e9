/** A stream of deltas as the promise of its reply. */
import type { Observable, Subscription } from 'rxjs'
import type { Reply } from '../../machines/agent/messages.ts'
import type { ModelDelta } from './model.ts'
import { ModelError } from './model.ts'

export interface CollectedReply {
  readonly reply: Reply
  /** The id that the server gave to the request, where it gave one. */
  readonly requestId: string | undefined
}

/**
 * Subscribes to `deltas`, hands each one before the message to `onDelta`, and resolves with the message.
 *
 * Rejects with the signal's reason as soon as it aborts (whether or not the model notices) and with a
 * {@link ModelError} for every other end. What `onDelta` throws ends the stream and is what the promise rejects with.
 */
export function collect(
  deltas: Observable<ModelDelta>,
  signal: AbortSignal,
  onDelta: (delta: ModelDelta) => void = () => {},
): Promise<CollectedReply> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    let subscription: Subscription | undefined
    let settled = false

    /** The first outcome counts. A model that emits while it is subscribed is let go of after that. */
    const settle = (outcome: () => void): void => {
      if (settled) return
      settled = true
      signal.removeEventListener('abort', onAbort)
      subscription?.unsubscribe()
      outcome()
    }
    const onAbort = (): void => settle(() => reject(signal.reason))

    const take = (delta: ModelDelta): void => {
      if (settled) return
      if (delta.type === 'message') {
        settle(() => resolve({ reply: delta.reply, requestId: delta.requestId }))
        return
      }
      try {
        onDelta(delta)
      } catch (error) {
        settle(() => reject(error))
      }
    }

    signal.addEventListener('abort', onAbort, { once: true })
    subscription = deltas.subscribe({
      next: take,
      error: (error: unknown) =>
        settle(() => reject(signal.aborted ? signal.reason : ModelError.from(error))),
      complete: () => settle(() => reject(endedWithoutMessage())),
    })
    if (settled) subscription.unsubscribe()
  })
}

/** The error for a model that completes and has given no message. */
export const endedWithoutMessage = (): ModelError =>
  new ModelError('stream-cut', 'the model completed its stream without a message', { retryable: true })
