/**
 * What waits for somebody's word, by its id. Each is answered once: who waits is let go by the first answer, and a
 * second one finds nobody.
 */

interface Waiting<R, A> {
  readonly request: R
  readonly answer: (answer: A, by: string) => void
}

/** The requests of an engine that wait, each for one answer. */
export class WaitingAnswers<R, A> {
  readonly #waiting = new Map<string, Waiting<R, A>>()

  /** Oldest first. */
  get requests(): readonly R[] {
    return [...this.#waiting.values()].map(({ request }) => request)
  }

  get(id: string): R | undefined {
    return this.#waiting.get(id)?.request
  }

  /** Gives the one answer. False when nobody waits for it. */
  answer(id: string, answer: A, by: string): boolean {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return false
    this.#waiting.delete(id)
    waiting.answer(answer, by)
    return true
  }

  /** Waits for an answer. Rejects with the signal's reason. */
  wait(id: string, request: R, signal: AbortSignal): Promise<{ readonly answer: A; readonly by: string }> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(id)
        reject(signal.reason)
      }
      if (signal.aborted) return onAbort()
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.set(id, {
        request,
        answer: (answer, by) => {
          signal.removeEventListener('abort', onAbort)
          resolve({ answer, by })
        },
      })
    })
  }
}
