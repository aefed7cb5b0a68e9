/** What a process wrote since somebody last read it, in bounded memory. */
import { StringDecoder } from 'node:string_decoder'
import { createCappedOutput } from './capped-output.ts'

/** What was written since the last reading. */
interface Reading {
  readonly text: string
  /** Bytes that were left out of the middle of `text`. */
  readonly omittedBytes: number
}

/** Collects chunks until they are taken. */
export interface UnreadOutput {
  push(chunk: Buffer): void
  /** Nothing more comes: half a character at the end will stay one. */
  end(): void
  /** Everything since the last time. Never half a character: the rest of one comes with the next reading. */
  take(): Reading
}

/** Keeps at most `maxBytes` bytes between two readings, half of them from the beginning and half from the end. */
export function createUnreadOutput(maxBytes: number): UnreadOutput {
  const decoder = new StringDecoder('utf8')
  let unread = createCappedOutput(maxBytes)
  const add = (text: string): void => {
    if (text !== '') unread.push(Buffer.from(text))
  }
  return {
    push: (chunk) => add(decoder.write(chunk)),
    end: () => add(decoder.end()),
    take() {
      const reading = unread.text()
      unread = createCappedOutput(maxBytes)
      return reading
    },
  }
}
