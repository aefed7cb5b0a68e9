/**
 * Lines that a person types, one at a time, as answers.
 *
 *   T1  Only what is typed after a question is shown answers it: what came before, or behind the answer on its way, is
 *       dropped. A second Enter, or a pasted text of several lines, must not approve what nobody has read.
 *   T2  Nothing is read before the first question: a program in the background that reads its terminal is stopped.
 *   T3  The terminal stays as it is, line by line: editing, Ctrl-C and Ctrl-Z are the terminal's own.
 */
import type { Clock } from '../effects/clock.ts'
import { sleep } from '../effects/clock.ts'
import type { Host } from './host.ts'

/** Milliseconds in which everything that was typed before a question arrives. */
export const HUSH_MS = 50

/** More of a line than that is nobody's answer. */
const MAX_LINE = 100_000

export interface TypedLines {
  /** Waits until what was typed before is read, and drops it. Rejects when the signal aborts. */
  hush(signal: AbortSignal): Promise<void>
  /** The next line, without its end; undefined when there is no input any more. Rejects when the signal aborts. */
  next(signal: AbortSignal): Promise<string | undefined>
}

interface Waiting {
  take(line: string | undefined): void
}

/** Reads lines from an input, as they are asked for. */
export function createTypedLines(stdin: Host['stdin'], clock: Clock): TypedLines {
  const decoder = new TextDecoder()
  let waiting: Waiting | undefined
  let isOpen = false
  let hasEnded = false
  let rest = ''

  const give = (line: string | undefined): void => {
    const to = waiting
    waiting = undefined
    to?.take(line)
  }

  const read = async (): Promise<void> => {
    try {
      for await (const chunk of stdin) {
        rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
        const lines = rest.split(/\r\n|[\r\n]/)
        rest = (lines.pop() ?? '').slice(0, MAX_LINE)
        for (const line of lines) give(line)
      }
    } catch {
      // A terminal that went away: there is no input any more.
    }
    hasEnded = true
    give(undefined)
  }

  return {
    async hush(signal) {
      if (!isOpen) {
        isOpen = true
        void read()
      }
      await sleep(clock, HUSH_MS, signal)
      rest = ''
    },
    next: (signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted()
        if (hasEnded) return resolve(undefined)
        const onAbort = (): void => {
          waiting = undefined
          reject(signal.reason)
        }
        signal.addEventListener('abort', onAbort, { once: true })
        waiting = {
          take: (line) => {
            signal.removeEventListener('abort', onAbort)
            resolve(line)
          },
        }
      }),
  }
}
