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

/** The abort of one effect. Its signal is made when somebody asks: most effects never do, and a signal is not cheap. */
export class EffectAbort {
  #controller: AbortController | undefined
  #isAborted = false

  get isAborted(): boolean {
    return this.#isAborted
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#isAborted) this.#controller.abort(EFFECT_ABORTED)
    }
    return this.#controller.signal
  }

  abort(): void {
    this.#isAborted = true
    this.#controller?.abort(EFFECT_ABORTED)
  }
}

export class EffectScope {
  readonly #running = new Map<symbol, string>()
  #waiting: { readonly besides: symbol | undefined; readonly resolve: () => void }[] = []

  /**
   * Runs an effect and reports what it returns. Everything that either throws is caught: `onFault` is told, unless
   * it is the abort. Returns the abort, which does nothing once the effect is reporting.
   */
  start<T>(
    label: string,
    body: (abort: EffectAbort, self: symbol) => Promise<T>,
    report: (outcome: T) => Promise<unknown>,
    onFault: (error: unknown) => void,
  ): () => void {
    const self = Symbol(label)
    const abort = new EffectAbort()
    let isReporting = false
    this.#running.set(self, label)
    // An async wrapper also catches what a body throws before its first await.
    const run = async (): Promise<void> => {
      try {
        const outcome = await body(abort, self)
        isReporting = true
        await report(outcome)
      } catch (error) {
        if (!isExpected(error, abort)) onFault(error)
      } finally {
        this.#running.delete(self)
        this.#wake()
      }
    }
    void run()
    return () => {
      if (!isReporting) abort.abort()
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
function isExpected(error: unknown, abort: EffectAbort): boolean {
  if (!(error instanceof Error)) return false
  if (error.name === 'EffectSuspended') return true
  return abort.isAborted && (error === EFFECT_ABORTED || error.name === 'AbortError')
}
