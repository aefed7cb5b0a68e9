/** Ways to wait inside one process. None of them outlives an abort. */

/** Everything that is ready has happened then: what ends in one moment is told together. */
export const nextMacrotask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Waits for a promise, as long as the signal is not aborted. Rejects with its reason then, and as the promise does. */
export function orAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    const letGo = (): void => signal.removeEventListener('abort', onAbort)
    promise.then(
      () => {
        letGo()
        resolve()
      },
      (error: unknown) => {
        letGo()
        reject(error)
      },
    )
  })
}
