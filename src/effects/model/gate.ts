/**
 * The gate that all requests to one provider pass, so that many agents do not hammer a server that is overloaded.
 *
 * Open, it lets everything pass at once and costs nothing. A sign of overload closes it: nobody passes until a
 * backoff is over, then those who wait are released one by one with jittered gaps, and signs of health open it.
 *
 * Owns: who may send when. Does not own: how often one request is tried, which errors are worth another attempt
 * ({@link withRetries}).
 *
 * - G1 While it is not open, no two requests are released at the same instant.
 * - G2 Requests are released in the order in which they came; nobody overtakes the queue.
 * - G3 Nobody is released before the time that the server asked for, or before the backoff is over.
 * - G4 Outcomes of requests that were sent before the gate last closed do not count: fifty requests that fail
 *   together raise the backoff by one step, and a reply from before proves nothing about now. Only the time that
 *   a server asks for is honoured from anybody.
 * - G5 One who cancels is not released, and leaves nothing behind.
 * - G6 One timer at most, and only while somebody waits.
 * - G7 Those who wait hear what becomes of requests in front of them, as far as it counts (G4): whoever would have
 *   failed the same way need not try for itself, and an outage ends fifty agents when it would end one.
 */
import type { CancelTimer, Clock } from '../clock.ts'

/** Proof of having passed; outcomes are reported with it. */
export type GateTicket = number

/** What became of a request that was let through in front of others. */
export type GateSign = 'answered' | 'overloaded'

export interface ProviderGate {
  /**
   * Calls `go` once, when a request may be sent: before this returns while the gate is open. The result takes
   * the request out of the queue; it is harmless after `go`. `hear` is called with each sign while it waits.
   */
  enter(go: (ticket: GateTicket) => void, hear?: (sign: GateSign) => void): CancelTimer
  /** The provider has begun to answer a request that passed with `ticket`. */
  succeeded(ticket: GateTicket): void
  /** The provider was overloaded or limited the rate. `retryAfterMs` is what it asked for. */
  overloaded(ticket: GateTicket, retryAfterMs?: number): void
  /** Milliseconds until a request that enters now is released, at the earliest. 0 while the gate is open. */
  readonly waitMs: number
  /** How many wait. */
  readonly waiting: number
  readonly isOpen: boolean
}

export interface GateOptions {
  readonly clock: Pick<Clock, 'now' | 'setTimer'>
  /** A number in [0, 1). */
  readonly random: () => number
  /** First backoff in milliseconds; doubles with each closing in a row. Default 1,000. */
  readonly baseDelayMs?: number
  /** Longest backoff that the gate chooses by itself. Default 32,000. */
  readonly maxDelayMs?: number
  /** Mean gap between two releases after the first closing; doubles likewise, halves with each success. Default 100. */
  readonly spacingMs?: number
  /** Successes in a row that open the gate. Default 3. */
  readonly successesToOpen?: number
}

const MIN_SPACING_MS = 10
const MAX_SPACING_MS = 2_000

/** What a gate knows. `level` 0 means healthy; otherwise how many times in a row it has closed. */
interface GateState {
  readonly level: number
  readonly ticket: GateTicket
  readonly notBefore: number
  readonly spacingMs: number
  readonly successes: number
}

interface Waiter {
  readonly go: (ticket: GateTicket) => void
  readonly hear: ((sign: GateSign) => void) | undefined
}

const HEALTHY: GateState = { level: 0, ticket: 0, notBefore: 0, spacingMs: MIN_SPACING_MS, successes: 0 }

/** A gate for one provider, open at first. */
export function createProviderGate(options: GateOptions): ProviderGate {
  const { clock, random, successesToOpen = 3 } = options
  let state = HEALTHY
  /** In order of arrival. A set, so that leaving it from the middle is cheap. */
  const queue = new Set<Waiter>()
  let cancelTimer: CancelTimer | undefined

  const isOpen = (): boolean => state.level === 0 && queue.size === 0
  const waitMs = (): number => (isOpen() ? 0 : Math.max(0, state.notBefore - clock.now()))

  /** Releases the first in the queue if it is time, and sees to the next. */
  const release = (): void => {
    cancelTimer?.()
    cancelTimer = undefined
    const [first] = queue
    if (first === undefined) return
    const wait = waitMs()
    if (wait > 0) {
      cancelTimer = clock.setTimer(wait, release)
      return
    }
    queue.delete(first)
    state = afterRelease(state, clock.now(), random())
    if (queue.size > 0) cancelTimer = clock.setTimer(waitMs(), release)
    first.go(state.ticket)
  }

  /** G7: whoever hears it may leave. */
  const tell = (sign: GateSign): void => {
    for (const waiter of [...queue]) if (queue.has(waiter)) waiter.hear?.(sign)
  }

  return {
    enter(go, hear) {
      if (isOpen()) {
        go(state.ticket)
        return () => {}
      }
      const waiter: Waiter = { go, hear }
      queue.add(waiter)
      if (queue.size === 1) release()
      return () => {
        if (queue.delete(waiter)) release()
      }
    },
    succeeded(ticket) {
      const before = state
      state = afterSuccess(state, ticket, successesToOpen)
      if (state !== before) tell('answered')
    },
    overloaded(ticket, retryAfterMs) {
      const { level } = state
      state = afterOverload(state, { ticket, retryAfterMs, now: clock.now(), chance: random() }, options)
      if (state.level > level) tell('overloaded')
    },
    get waitMs() {
      return waitMs()
    },
    get waiting() {
      return queue.size
    },
    get isOpen() {
      return isOpen()
    },
  }
}

/** G1: the next release is half to one and a half gaps away, at least a millisecond. */
function afterRelease(state: GateState, now: number, chance: number): GateState {
  return { ...state, notBefore: now + Math.max(1, Math.ceil(state.spacingMs * (0.5 + chance))) }
}

function afterSuccess(state: GateState, ticket: GateTicket, successesToOpen: number): GateState {
  if (state.level === 0 || ticket !== state.ticket) return state
  const successes = state.successes + 1
  const spacingMs = Math.max(MIN_SPACING_MS, state.spacingMs / 2)
  return { ...state, successes, spacingMs, level: successes >= successesToOpen ? 0 : state.level }
}

function afterOverload(
  state: GateState,
  sign: {
    readonly ticket: GateTicket
    readonly retryAfterMs: number | undefined
    readonly now: number
    readonly chance: number
  },
  { baseDelayMs = 1_000, maxDelayMs = 32_000, spacingMs = 100 }: GateOptions,
): GateState {
  const asked = sign.now + (sign.retryAfterMs ?? 0)
  if (sign.ticket !== state.ticket) {
    // G4: that the provider was overloaded when this request was sent is known already, or over again.
    if (state.level > 0) return { ...state, notBefore: Math.max(state.notBefore, asked) }
    if (sign.retryAfterMs === undefined) return state
  }
  const doublings = 2 ** Math.min(state.level, 16)
  const backoff = Math.min(maxDelayMs, baseDelayMs * doublings) * (0.5 + sign.chance / 2)
  return {
    level: state.level + 1,
    ticket: state.ticket + 1,
    notBefore: Math.max(state.notBefore, asked, Math.ceil(sign.now + backoff)),
    spacingMs: Math.min(MAX_SPACING_MS, spacingMs * doublings),
    successes: 0,
  }
}
