/**
 * What a terminal in raw mode sends, as the few keys that mean something here. Everything else that is typed, pasted or
 * sent by a mouse is dropped.
 */
import type { CancelTimer, Clock } from '../effects/clock.ts'

export type Key = 'escape' | 'ctrl-b' | 'ctrl-c' | 'ctrl-z' | 'ctrl-backslash'

/** Milliseconds after which a lone escape is the key, and not the begin of what another key sends. */
export const ESCAPE_MS = 50

const KEY_OF: Readonly<Record<string, Key>> = {
  '\x02': 'ctrl-b',
  '\x03': 'ctrl-c',
  '\x1a': 'ctrl-z',
  '\x1c': 'ctrl-backslash',
  '\x1b': 'escape',
}

export interface KeyReader {
  /** Takes what has come; it may end in the middle of what one key sends. */
  take(text: string): void
  /** Forgets what is not complete. */
  reset(): void
}

/** Calls `press` for each key, in order. */
export function createKeyReader(clock: Clock, press: (key: Key) => void): KeyReader {
  let rest = ''
  let cancel: CancelTimer | undefined
  const reset = (): void => {
    cancel?.()
    cancel = undefined
    rest = ''
  }
  return {
    take(text) {
      let left = rest + text
      reset()
      while (left !== '') {
        const sequence = sequenceAt(left)
        if (sequence === undefined) break
        const key = KEY_OF[sequence]
        left = left.slice(sequence.length)
        if (key !== undefined) press(key)
      }
      if (left === '') return
      rest = left
      cancel = clock.setTimer(ESCAPE_MS, () => {
        const isKey = rest === '\x1b'
        reset()
        if (isKey) press('escape')
      })
    },
    reset,
  }
}

/** More than any key sends. */
const MAX_SEQUENCE = 64

/** What one key sent, from the start of a text that is not empty; undefined when more of it has to come. */
function sequenceAt(text: string): string | undefined {
  if (!text.startsWith('\x1b')) return text.slice(0, 1)
  const whole = WHOLE.exec(text)?.[0]
  if (whole !== undefined) return whole
  // The key twice, fast.
  if (text.startsWith('\x1b\x1b')) return '\x1b'
  const begun = BEGUN.exec(text)?.[0] ?? '\x1b'
  // What cannot go on like this is no key; what follows may be one, Ctrl-C above all.
  return begun.length === text.length && begun.length < MAX_SEQUENCE ? undefined : begun
}

const ESC = '\u001b'
const CONTROLS = '\u0000-\u001f'

// Arrow and function keys and reports of a mouse are `ESC [ … x` and `ESC O x`; with Alt a key is `ESC x`.
const WHOLE = new RegExp(`^${ESC}(?:\\[[0-?]*[ -/]*[@-~]|O[@-~]|[^[O${CONTROLS}])`)
const BEGUN = new RegExp(`^${ESC}(?:\\[[0-?]*[ -/]*|O)?`)
