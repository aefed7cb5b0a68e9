/** Something that happens again and again, and that anybody may wait for once. */
export class Occasion<T = void> {
  #waiting: { readonly goOn: (value: T) => void; readonly giveUp: (error: unknown) => void }[] = []

  /** Resolves with it when it happens next; rejects when it cannot any more. */
  next(): Promise<T> {
    return new Promise((goOn, giveUp) => this.#waiting.push({ goOn, giveUp }))
  }

  /** It happens: whoever waits goes on, whoever waits from now on waits for the next time. */
  happens(value: T): void {
    for (const { goOn } of this.#take()) goOn(value)
  }

  /** Whoever waits for it does so in vain. */
  fails(error: unknown): void {
    for (const { giveUp } of this.#take()) giveUp(error)
  }

  #take() {
    const waiting = this.#waiting
    this.#waiting = []
    return waiting
  }
}
