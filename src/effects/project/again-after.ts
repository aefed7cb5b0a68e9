/** Work that is asked for while it is being done is done once more after that, never twice at once. */
export interface RepeatedWork {
  /** Asks for it. */
  ask(): void
  /** Resolves when nothing is being done. Never rejects. */
  idle(): Promise<void>
}

/** `work` must not reject. */
export function againAfter(work: () => Promise<void>): RepeatedWork {
  let isAsked = false
  let current: Promise<void> | undefined
  const run = async (): Promise<void> => {
    while (isAsked) {
      isAsked = false
      await work()
    }
    // In the same breath as the last look, so that no wish is lost between the two.
    current = undefined
  }
  return {
    ask() {
      isAsked = true
      current ??= run()
    },
    async idle() {
      await current
    },
  }
}
