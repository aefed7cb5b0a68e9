/**
 * Makes a model that tries again what is worth another attempt.
 *
 * Owns the attempts of one request: their number, the pauses between them, and two clocks for each. Does not own
 * when a provider may be asked at all ({@link ProviderGate}), nor what an HTTP status means.
 *
 * - R1 Subscribers see one attempt at a time. A broken one is unsubscribed and aborted before `restarted` is seen.
 * - R2 `restarted` comes as soon as an attempt has broken, before the pause, and says how long that will be.
 * - R3 The first-byte clock runs from the sending of an attempt until anything comes. From then on the gap clock
 *   runs; only deltas that carry content wind it back, so that a server which merely pings is given up.
 * - R4 A pause is never shorter than what the server asked for, and jittered on top, so that agents spread out.
 * - R5 An attempt of somebody else that fails while this request waits at the gate counts as one of its own, unless
 *   another is answered in between: an outage ends fifty requests when it would end one, not fifty times later.
 * - R6 An abort or an unsubscription ends whatever is going on, also a pause, and leaves no timer behind.
 */
import { defer, Observable, type Subscriber, type Subscription } from 'rxjs'
import type { CancelTimer, Clock } from '../clock.ts'
import type { GateSign, GateTicket, ProviderGate } from './gate.ts'
import type { Model, ModelDelta, ModelRequest } from './model.ts'
import { ModelError } from './model.ts'
import { endedWithoutMessage } from './reply-stream.ts'

/** How often and how patiently a request is tried. */
export interface RetryPolicy {
  /** Retries after the first attempt. Default 10. */
  readonly maxRetries: number
  /** Milliseconds until something must come. Default 60,000. */
  readonly firstByteMs: number
  /** Milliseconds between deltas that carry content. Default 120,000. */
  readonly gapMs: number
  /** First backoff in milliseconds; doubles up to `maxDelayMs`, jittered. Default 500. */
  readonly baseDelayMs: number
  /** Default 32,000. */
  readonly maxDelayMs: number
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  maxRetries: 10,
  firstByteMs: 60_000,
  gapMs: 120_000,
  baseDelayMs: 500,
  maxDelayMs: 32_000,
}

export interface WithRetriesOptions {
  /** Shared by all models of the provider. */
  readonly gate: ProviderGate
  readonly clock: Clock
  /** A number in [0, 1). */
  readonly random: () => number
  readonly options?: Partial<RetryPolicy>
}

interface Retrying extends WithRetriesOptions {
  readonly model: Model
  readonly policy: RetryPolicy
}

/**
 * `model` with retries. Errors that are not retryable pass through; when the attempts are used up the error is a
 * {@link ModelError} with the last one's code, `retryable: true`, the number of `attempts`, and the last one as `cause`.
 */
export function withRetries(model: Model, options: WithRetriesOptions): Model {
  const retrying: Retrying = { ...options, model, policy: { ...DEFAULT_RETRY_POLICY, ...options.options } }
  return {
    provider: model.provider,
    stream: (request, signal) =>
      new Observable((subscriber) => pursue(retrying, request, signal, subscriber)),
  }
}

/** Tries until there is an outcome. The result ends it. */
function pursue(
  retrying: Retrying,
  request: ModelRequest,
  signal: AbortSignal,
  subscriber: Subscriber<ModelDelta>,
): () => void {
  const { gate, clock, random, policy } = retrying
  if (signal.aborted) {
    subscriber.error(signal.reason)
    return () => {}
  }
  const startedAt = clock.now()
  let attempts = 0
  /** R5: of others, in a row. */
  let inVain = 0
  let last: ModelError | undefined
  // Any of these may be called when it is over already; any step may lead to the next before it returns.
  let leaveGate: CancelTimer = () => {}
  let endAttempt: CancelTimer = () => {}
  let endPause: CancelTimer = () => {}

  const hear = (sign: GateSign): void => {
    inVain = sign === 'answered' ? 0 : inVain + 1
    if (attempts + inVain <= policy.maxRetries) return
    subscriber.error(finalError(last ?? tooMuchToDo(), attempts, inVain, policy, clock.now() - startedAt))
  }

  const begin = (): void => {
    leaveGate = gate.enter((ticket) => {
      attempts += 1
      endAttempt = attempt(retrying, request, {
        next: (delta) => subscriber.next(delta),
        done: () => subscriber.complete(),
        answered: () => gate.succeeded(ticket),
        broken: (error) => recover(error, ticket),
      })
      if (subscriber.closed) endAttempt()
    }, hear)
  }

  const recover = (error: ModelError, ticket: GateTicket): void => {
    if (error.retryable && isOverload(error)) gate.overloaded(ticket, error.retryAfterMs)
    last = error
    const final = finalError(error, attempts, inVain, policy, clock.now() - startedAt)
    if (final !== undefined) {
      subscriber.error(final)
      return
    }
    const delayMs = Math.max(pauseMs(error, attempts, policy, random()), gate.waitMs)
    subscriber.next({ type: 'restarted', attempt: attempts + 1, delayMs, reason: error.message })
    if (!subscriber.closed) endPause = clock.setTimer(delayMs, begin)
  }

  const onAbort = (): void => subscriber.error(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  begin()
  return () => {
    signal.removeEventListener('abort', onAbort)
    leaveGate()
    endAttempt()
    endPause()
  }
}

/** What an attempt reports; nothing any more after `done`, `broken`, or its end. */
interface AttemptReport {
  readonly next: (delta: ModelDelta) => void
  /** Something came: the server has begun to answer. */
  readonly answered: () => void
  readonly done: () => void
  readonly broken: (error: ModelError) => void
}

/** Makes one attempt, with its clocks (R3). The result ends it without a report. */
function attempt(
  { model, clock, policy }: Retrying,
  request: ModelRequest,
  report: AttemptReport,
): CancelTimer {
  const abort = new AbortController()
  let subscription: Subscription | undefined
  let cancelTimer: CancelTimer = () => {}
  let over = false
  let heard = false
  let lastContentAt = 0

  const leave = (): void => {
    over = true
    cancelTimer()
    subscription?.unsubscribe()
  }
  const end = (): void => {
    if (over) return
    leave()
    abort.abort()
  }
  const fail = (error: ModelError): void => {
    if (over) return
    end()
    report.broken(error)
  }

  // One timer that looks at the clock again when it fires: cheaper than a new timer for each delta.
  const watchGap = (): void => {
    const rest = lastContentAt + policy.gapMs - clock.now()
    if (rest <= 0) fail(gapTimeout(policy.gapMs))
    else cancelTimer = clock.setTimer(rest, watchGap)
  }
  const watch = (): void => {
    cancelTimer()
    if (heard) watchGap()
    else cancelTimer = clock.setTimer(policy.firstByteMs, () => fail(firstByteTimeout(policy.firstByteMs)))
  }

  const take = (delta: ModelDelta): void => {
    if (over) return
    // What throws in here would be thrown at the whole process by rxjs.
    if (!isDelta(delta)) {
      fail(ModelError.from(new TypeError('the model emitted something that is no delta')))
      return
    }
    if (!heard || carriesContent(delta)) lastContentAt = clock.now()
    if (!heard) {
      heard = true
      report.answered()
      if (subscription !== undefined) watch()
    }
    const last = delta.type === 'message'
    if (last) leave()
    report.next(delta)
    if (last) report.done()
  }

  // Deferred, so that a model which throws before it gives a stream is an error like others.
  const subscribed = defer(() => model.stream(request, abort.signal)).subscribe({
    next: take,
    error: (error: unknown) => fail(ModelError.from(error)),
    complete: () => {
      // Making an error costs more than all the rest of a request to a scripted model.
      if (!over) fail(endedWithoutMessage())
    },
  })
  subscription = subscribed
  // A model that answers while it is subscribed costs no timer.
  if (over) subscribed.unsubscribe()
  else watch()
  return end
}

const isDelta = (delta: unknown): boolean =>
  typeof delta === 'object' && delta !== null && 'type' in delta && typeof delta.type === 'string'

const carriesContent = ({ type }: ModelDelta): boolean => type !== 'heartbeat' && type !== 'restarted'

/** Whether an error says that the provider has too much to do, so that others should wait, too. */
function isOverload({ code, status }: ModelError): boolean {
  if (status !== undefined) return status === 429 || status >= 500
  return code === 'overloaded' || code === 'rate-limited' || code === 'server'
}

/** The pause after attempt number `attempts` (R4): anything up to the doubled backoff, and what the server asked for. */
function pauseMs(
  error: ModelError,
  attempts: number,
  { baseDelayMs, maxDelayMs }: RetryPolicy,
  chance: number,
): number {
  const backoff = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(attempts - 1, 30)) * chance
  const asked = error.retryAfterMs === undefined ? 0 : error.retryAfterMs + baseDelayMs * chance
  return Math.ceil(Math.max(backoff, asked))
}

const firstByteTimeout = (ms: number): ModelError =>
  new ModelError('first-byte-timeout', `nothing came from the model within ${seconds(ms)}`, {
    retryable: true,
  })

const gapTimeout = (ms: number): ModelError =>
  new ModelError('gap-timeout', `the model has sent no content for ${seconds(ms)}`, { retryable: true })

const tooMuchToDo = (): ModelError =>
  new ModelError('overloaded', 'the model has too much to do for everybody who asks it', { retryable: true })

/**
 * The error to end with after `attempts` of its own, of which `last` ended the last, and `inVain` of others in a row;
 * undefined to try again.
 */
function finalError(
  last: ModelError,
  attempts: number,
  inVain: number,
  { maxRetries }: RetryPolicy,
  ms: number,
): ModelError | undefined {
  if (!last.retryable) return last
  if (attempts + inVain <= maxRetries) return undefined
  const own = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  const times = inVain === 0 ? own : `${own} and ${inVain} of other agents`
  return new ModelError(last.code, `gave up after ${times} over ${seconds(ms)}: ${last.message}`, {
    retryable: true,
    status: last.status,
    retryAfterMs: last.retryAfterMs,
    attempts,
    cause: last,
  })
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`
