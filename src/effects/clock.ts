/** Time, as a port: the engine never reads the wall clock anywhere else. */

/** Cancels a timer. Harmless when it has already fired. */
export type CancelTimer = () => void

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Calls `callback` once, `ms` milliseconds from now. A pending timer never keeps the process alive. */
  setTimer(ms: number, callback: () => void): CancelTimer
}

/** Longest delay that Node takes; a longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(ms, callback) {
    const timer = setTimeout(callback, Math.min(ms, MAX_DELAY_MS))
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      cancel()
      reject(signal?.reason)
    }
    const cancel = clock.setTimer(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
