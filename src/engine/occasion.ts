/** Something that happens again and again, and that anybody may wait for once. */
export class Occasion {
  #waiting: (() => void)[] = []

  /** Resolves when it happens next. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** It happens: whoever waits goes on, whoever waits from now on waits for the next time. */
  happens(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const goOn of waiting) goOn()
  }
}
