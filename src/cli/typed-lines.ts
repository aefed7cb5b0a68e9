/**
 * What a person types: lines, one at a time, as answers; and while nothing is asked, where that is wanted, keys.
 *
 *   T1  Only what is typed after a question is shown answers it: what came before, or behind the answer on its way, is
 *       dropped. A second Enter, or a pasted text of several lines, must not approve what nobody has read.
 *   T2  Nothing is read before the first question, or before there are keys: a program in the background that reads its
 *       terminal is stopped, so there keys are not listened to.
 *   T3  While something is asked the terminal is as it was, line by line: editing, Ctrl-C and Ctrl-Z are its own. Keys need
 *       it raw, which ends with {@link TypedLines.begin} and {@link TypedLines.stop}.
 */
import type { Clock } from '../effects/clock.ts'
import { sleep } from '../effects/clock.ts'
import type { Host } from './host.ts'
import type { KeyReader } from './keys.ts'

/** Milliseconds in which everything that was typed before a question arrives. */
export const HUSH_MS = 50

/** More of a line than that is nobody's answer. */
const MAX_LINE = 100_000

export interface TypedLines {
  /** Waits until what was typed before is read, and drops it. Rejects when the signal aborts. */
  hush(signal: AbortSignal): Promise<void>
  /** The next line, without its end; undefined when there is no input any more. Rejects when the signal aborts. */
  next(signal: AbortSignal): Promise<string | undefined>
  /** Something will be asked: what is typed is lines. */
  begin(): void
  /** Nothing is asked: what is typed is keys, where they are wanted and the terminal gives them. */
  rest(): void
  /** Keys are not wanted any more; the terminal is as it was. */
  stop(): void
}

interface Waiting {
  take(line: string | undefined): void
}

/** Reads from an input: lines as they are asked for, and in between, with `keys`, what keys send. */
export function createTypedLines(stdin: Host['stdin'], clock: Clock, keys?: KeyReader): TypedLines {
  const decoder = new TextDecoder()
  let waiting: Waiting | undefined
  let isOpen = false
  let hasEnded = false
  let isStopped = false
  let isRaw = false
  let rest = ''

  const give = (line: string | undefined): void => {
    const to = waiting
    waiting = undefined
    to?.take(line)
  }

  const read = async (): Promise<void> => {
    try {
      for await (const chunk of stdin) {
        const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
        if (isRaw) {
          keys?.take(text)
          continue
        }
        rest += text
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

  const open = (): void => {
    if (isOpen) return
    isOpen = true
    void read()
  }

  const begin = (): void => {
    if (!isRaw) return
    isRaw = false
    keys?.reset()
    stdin.setRaw?.(false)
  }

  return {
    begin,
    rest() {
      // Again also where it was: whoever stopped this process has used the terminal since.
      if (keys === undefined || isStopped || stdin.setRaw?.(true) !== true) return
      isRaw = true
      open()
    },
    stop() {
      isStopped = true
      begin()
    },
    async hush(signal) {
      open()
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
