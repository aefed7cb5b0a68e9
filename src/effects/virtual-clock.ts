/**
 * A clock that stands still until it is told to move, for tests and simulations.
 *
 * Timers fire in the order in which they are due; those due at the same instant fire in the order in which they
 * were set. A timer that a callback sets inside the span that is being passed fires in the same pass.
 */
import type { CancelTimer, Clock } from './clock.ts'

export interface VirtualClock extends Clock {
  /** Moves time forward by `ms`, firing what falls due on the way. Synchronous: no promise gets its turn. */
  advance(ms: number): void
  /**
   * As {@link VirtualClock.advance}, and lets everything that is waiting (promises, finished I/O) run before the
   * first, between any two and after the last of the timers.
   */
  advanceAsync(ms: number): Promise<void>
  /** Fires timers until none is left. Throws after 100,000: timers that set each other never end. */
  runAll(): void
  /** As {@link VirtualClock.runAll}, with turns for promises as in {@link VirtualClock.advanceAsync}. */
  runAllAsync(): Promise<void>
  /** How many timers are set and have neither fired nor been cancelled. */
  readonly pending: number
  /** Milliseconds until the next timer is due; undefined when none is set. */
  readonly untilNext: number | undefined
}

const DEFAULT_START = Date.UTC(2030, 0, 1)
const MOST_FIRINGS = 100_000

interface Timer {
  readonly due: number
  readonly callback: () => void
}

/** A virtual clock that shows `start`, in milliseconds since the epoch. Default: the first of January 2030, UTC. */
export function createVirtualClock(start: number = DEFAULT_START): VirtualClock {
  let now = start
  /** Latest first, so that the next one is at the end; equals stand in reverse order of setting. */
  const timers: Timer[] = []

  const setTimer = (ms: number, callback: () => void): CancelTimer => {
    const timer: Timer = { due: now + Math.max(ms, 0), callback }
    timers.splice(firstNotAfter(timers, timer.due), 0, timer)
    return () => {
      const position = timers.indexOf(timer)
      if (position >= 0) timers.splice(position, 1)
    }
  }

  /** Fires the next timer if it is due by `until`. */
  const fireNext = (until: number): boolean => {
    const next = timers.at(-1)
    if (next === undefined || next.due > until) return false
    timers.pop()
    now = next.due
    next.callback()
    return true
  }

  const fireAll = function* (until: number): Generator<void> {
    for (let fired = 0; fireNext(until); fired++) {
      if (fired >= MOST_FIRINGS)
        throw new Error(`${MOST_FIRINGS} timers fired and more are set: they never end`)
      yield
    }
  }

  const runSync = (until: number): void => {
    for (const _ of fireAll(until));
  }
  const runAsync = async (until: number): Promise<void> => {
    await turn()
    for (const _ of fireAll(until)) await turn()
  }

  return {
    now: () => now,
    setTimer,
    advance(ms) {
      const until = now + ms
      runSync(until)
      now = until
    },
    async advanceAsync(ms) {
      const until = now + ms
      await runAsync(until)
      now = until
    },
    runAll: () => runSync(Number.POSITIVE_INFINITY),
    runAllAsync: () => runAsync(Number.POSITIVE_INFINITY),
    get pending() {
      return timers.length
    },
    get untilNext() {
      const next = timers.at(-1)
      return next === undefined ? undefined : next.due - now
    },
  }
}

/** The first position whose timer is due at `due` or before; `timers` runs from late to early. */
function firstNotAfter(timers: readonly Timer[], due: number): number {
  let low = 0
  let high = timers.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const timer = timers[middle]
    if (timer !== undefined && timer.due > due) low = middle + 1
    else high = middle
  }
  return low
}

/** One turn of the event loop: all promises that can go on have gone on. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
