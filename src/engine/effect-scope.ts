/**
 * The running effects of one agent. XState's clean-up is synchronous: an actor is `done` before its process is
 * gone. This knows what is really still running, so that an agent ends only when nothing of it is left (law 9).
 */

/**
 * Why an effect was told to stop: XState left the state that wanted it, or the engine suspends. One for all: what it
 * would say is in the log, and making an error with its stack costs more than the rest of an abort.
 */
export const EFFECT_ABORTED: Error = Object.assign(new Error('the effect was aborted'), {
  name: 'AbortError',
  code: 'aborted',
})

export class EffectScope {
  readonly #running = new Map<symbol, string>()
  #waiting: { readonly besides: symbol | undefined; readonly resolve: () => void }[] = []

  /**
   * Runs an effect and reports what it returns. Everything that either throws is caught: `onFault` is told, unless
   * it is the abort. Returns the abort, which does nothing once the effect is reporting.
   */
  start<T>(
    label: string,
    body: (signal: AbortSignal, self: symbol) => Promise<T>,
    report: (outcome: T) => Promise<unknown>,
    onFault: (error: unknown) => void,
  ): () => void {
    const self = Symbol(label)
    const controller = new AbortController()
    let isReporting = false
    this.#running.set(self, label)
    // An async wrapper also catches what a body throws before its first await.
    const run = async (): Promise<void> => {
      try {
        const outcome = await body(controller.signal, self)
        isReporting = true
        await report(outcome)
      } catch (error) {
        if (!isExpected(error, controller.signal)) onFault(error)
      } finally {
        this.#running.delete(self)
        this.#wake()
      }
    }
    void run()
    return () => {
      if (!isReporting) controller.abort(EFFECT_ABORTED)
    }
  }

  /** Resolves when nothing is running, or nothing besides the given effect. */
  settled(besides?: symbol): Promise<void> {
    if (this.#isSettled(besides)) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ besides, resolve }))
  }

  /** Labels of what is running, for views and messages. */
  get running(): readonly string[] {
    return [...this.#running.values()]
  }

  #isSettled(besides: symbol | undefined): boolean {
    return (
      this.#running.size === 0 ||
      (this.#running.size === 1 && besides !== undefined && this.#running.has(besides))
    )
  }

  #wake(): void {
    if (this.#waiting.length === 0) return
    const still = this.#waiting.filter(({ besides, resolve }) => {
      if (!this.#isSettled(besides)) return true
      resolve()
      return false
    })
    this.#waiting = still
  }
}

/** The abort itself, or the suspension of the engine under an effect: neither is a fault. */
function isExpected(error: unknown, signal: AbortSignal): boolean {
  if (!(error instanceof Error)) return false
  if (error.name === 'EffectSuspended') return true
  return signal.aborted && (error === signal.reason || error.name === 'AbortError')
}
