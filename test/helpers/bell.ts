/** Something that changes outside of a test: whoever changes it rings, whoever waits for a fact looks again then. */
export interface Bell {
  ring(): void
  /** Resolves as soon as `isSo` holds, now or after a ring. */
  until(isSo: () => boolean): Promise<void>
}

export function createBell(): Bell {
  let waiting: readonly (() => void)[] = []
  return {
    ring: () => {
      const woken = waiting
      waiting = []
      for (const wake of woken) wake()
    },
    until: async (isSo) => {
      while (!isSo()) {
        await new Promise<void>((wake) => {
          waiting = [...waiting, wake]
        })
      }
    },
  }
}
