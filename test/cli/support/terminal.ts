/** A terminal without a kernel: what is typed comes when the test says so, what is shown is kept. */

import type { Output } from '../../../src/cli/host.ts'
import type { Clock } from '../../../src/effects/clock.ts'
import { systemClock } from '../../../src/effects/clock.ts'

export interface FakeTerminal {
  readonly stdin: AsyncIterable<string> & { readonly isTTY: boolean; setRaw(isRaw: boolean): boolean }
  /** Whether every key comes through at once. */
  readonly isRaw: boolean
  /** From now on somebody else has the terminal: nothing can be set. */
  takeAway(isAway: boolean): void
  readonly output: Output
  readonly shown: string
  /** Types a chunk, as it is. */
  type(text: string): void
  /** Ends the input. */
  end(): void
  /** Resolves when a text was shown `count` times. */
  until(text: string, count?: number): Promise<void>
}

export function createFakeTerminal(): FakeTerminal {
  const chunks: (string | undefined)[] = []
  let isRaw = false
  let isAway = false
  let wake: () => void = () => {}
  let shown = ''
  let look: () => void = () => {}
  const put = (chunk: string | undefined): void => {
    chunks.push(chunk)
    wake()
  }
  return {
    stdin: {
      isTTY: true,
      setRaw(wanted) {
        if (isAway) return false
        isRaw = wanted
        return isRaw
      },
      async *[Symbol.asyncIterator]() {
        for (;;) {
          while (chunks.length === 0) await new Promise<void>((resolve) => (wake = resolve))
          const chunk = chunks.shift()
          if (chunk === undefined) return
          yield chunk
        }
      },
    },
    output: {
      isTTY: true,
      columns: 100,
      rows: 30,
      write: (text) => {
        shown += text
        look()
      },
    },
    get isRaw() {
      return isRaw
    },
    takeAway: (away) => {
      isAway = away
    },
    get shown() {
      return shown
    },
    type: put,
    end: () => put(undefined),
    until: (text, count = 1) =>
      new Promise((resolve, reject) => {
        const cancel = systemClock.setTimer(5_000, () =>
          reject(new Error(`"${text}" was not shown ${count} times, but:\n${shown}`)),
        )
        look = () => {
          if (shown.split(text).length <= count) return
          cancel()
          look = () => {}
          resolve()
        }
        look()
      }),
  }
}

/** Moments of silence take as long as it takes to read what was typed. */
export const soon: Clock = {
  now: () => 0,
  setTimer: (_, callback) => {
    let left = 20
    let isOn = true
    const next = (): void => {
      if (!isOn) return
      if (left-- === 0) callback()
      else setImmediate(next)
    }
    next()
    return () => (isOn = false)
  },
}
