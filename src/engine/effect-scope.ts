/**
 * The running effects of one agent. XState's clean-up is synchronous: an actor is `done` before its process is
 * gone. This knows what is really still running, so that an agent ends only when nothing of it is left (law 9).
 */

/** Why an effect was told to stop: XState left the state that wanted it, or the engine suspends. */
export class EffectAborted extends Error {
  override readonly name = 'EffectAborted'
  readonly code = 'aborted'

  constructor(label: string) {
    super(`${label} was aborted`)
  }
}

export class EffectScope {
  readonly #running = new Map<symbol, string>()
  #waiting: { readonly besides: symbol | undefined; readonly resolve: () => void }[] = []

  /**
   * Runs an effect. Everything it throws is caught: `onFault` is told, unless it is the abort.
   * Returns the abort, which does nothing once the effect has ended.
   */
  start(
    label: string,
    body: (signal: AbortSignal, self: symbol) => Promise<void>,
    onFault: (error: unknown) => void,
  ): () => void {
    const self = Symbol(label)
    const controller = new AbortController()
    this.#running.set(self, label)
    // An async wrapper also catches what a body throws before its first await.
    const run = async (): Promise<void> => {
      try {
        await body(controller.signal, self)
      } catch (error) {
        if (!isExpected(error, controller.signal)) onFault(error)
      } finally {
        this.#running.delete(self)
        this.#wake()
      }
    }
    void run()
    return () => controller.abort(new EffectAborted(label))
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
    return this.#running.size === 0 || (this.#running.size === 1 && besides !== undefined && this.#running.has(besides))
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
