/**
 * The offline model: no key, no network, no language model. A deterministic planner behind the same interface,
 * so that the real engine does real work in a newcomer's first minute.
 */
import { Observable } from 'rxjs'
import type { CancelTimer, Clock } from '../../clock.ts'
import type { Model, ModelDelta, ModelRequest } from '../model.ts'
import { ModelError } from '../model.ts'
import { emitReply } from '../scripted-reply.ts'
import { nextStep } from './plan.ts'
import { toReply } from './reply.ts'

/** Characters of one text delta, about. */
const CHUNK = 80

/** Without options every reply comes at once. */
export interface OfflineModelOptions {
  /** A pause before each reply, for demonstrations and for tests that kill the process. In milliseconds. */
  readonly paceMs?: number
  /** Needed for a pause. */
  readonly clock?: Clock
}

/**
 * Makes the offline model. It keeps nothing between requests: every reply, ids included, is a pure function of
 * its request. An aborted request errors with the reason of its signal.
 *
 * @example createEngine({ model: createOfflineModel() })
 */
export function createOfflineModel(options: OfflineModelOptions = {}): Model {
  const { paceMs = 0, clock } = options
  if (paceMs > 0 && clock === undefined)
    throw new TypeError(
      `The offline model cannot pause ${paceMs} ms without a clock: pass { paceMs, clock }.`,
    )
  return {
    provider: 'offline',
    stream: (request, signal) => stream(request, signal, paceMs, clock),
  }
}

function stream(
  request: ModelRequest,
  signal: AbortSignal,
  paceMs: number,
  clock: Clock | undefined,
): Observable<ModelDelta> {
  return new Observable((subscriber) => {
    let cancel: CancelTimer = () => {}
    const onAbort = (): void => {
      cancel()
      subscriber.error(signal.reason)
    }
    if (signal.aborted) return onAbort()
    const reply = (): void => {
      try {
        emit()
      } catch (cause) {
        // From a timer, a throw would reach nobody.
        const message = 'The offline planner has a defect: it could not compute a reply.'
        subscriber.error(new ModelError('planner', message, { retryable: false, cause }))
      }
    }
    const emit = (): void => {
      const step = nextStep(request)
      emitReply(subscriber, toReply(request, step), Math.ceil(step.text.length / CHUNK))
    }
    signal.addEventListener('abort', onAbort, { once: true })
    subscriber.add(() => {
      cancel()
      signal.removeEventListener('abort', onAbort)
    })
    subscriber.next({ type: 'heartbeat' })
    if (subscriber.closed) return
    if (clock === undefined || paceMs <= 0) return reply()
    cancel = clock.setTimer(paceMs, reply)
  })
}
