/**
 * The bytes of a file of agents: what they mean, and in which encoding, its parser finds out.
 *
 * B1 What is opened is what was judged: no link is followed, and the path is looked at again once it is open.
 * B2 Never waits for another process and never reads without a bound: no pipes, no devices; a file that is too large
 *    is not read at all.
 * B3 Nothing throws: what cannot be read is a reason in words.
 *
 * The calls are synchronous. These files are small and mostly in memory, where to open, judge and read one takes 20 µs;
 * handing each of the five calls to another thread and back takes five times as much. Whoever reads many lets others
 * have their turn in between.
 */
import * as fs from 'node:fs'
import { messageOf } from '../../definitions/message-of.ts'

/** A file's bytes, or why there are none. */
export type BytesReading =
  /** Gone when the next file is read into the same memory. */
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** In bytes. */
  | { readonly kind: 'too-large'; readonly size: number }
  | { readonly kind: 'failed'; readonly reason: string }

/** Memory for the bytes of one file after the other: to get some for each costs more than to read it. */
export const memoryForBytes = (): Uint8Array => Buffer.allocUnsafeSlow(64 * 1024)

/** Reads a plain file of at most `maxBytes` bytes. `real` is a resolved path; a file that fits is read into `memory`. */
export function readBytes(real: string, maxBytes: number, memory: Uint8Array): BytesReading {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants
  try {
    const descriptor = fs.openSync(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const stats = fs.fstatSync(descriptor)
      if (!stats.isFile()) return { kind: 'failed', reason: 'it is no plain file' }
      if (stats.size > maxBytes) return { kind: 'too-large', size: stats.size }
      if (pathOf(descriptor, real) !== real)
        return { kind: 'failed', reason: 'it was moved while it was opened' }
      return { kind: 'bytes', bytes: readUpTo(descriptor, stats.size, memory) }
    } finally {
      fs.closeSync(descriptor)
    }
  } catch (error) {
    return { kind: 'failed', reason: messageOf(error) }
  }
}

/** The first `size` bytes, or fewer where the file has become shorter. */
function readUpTo(descriptor: number, size: number, memory: Uint8Array): Uint8Array {
  const buffer = size <= memory.length ? memory.subarray(0, size) : Buffer.allocUnsafe(size)
  for (let length = 0; length < size; ) {
    const bytesRead = fs.readSync(descriptor, buffer, length, size - length, length)
    if (bytesRead === 0) return buffer.subarray(0, length)
    length += bytesRead
  }
  return buffer
}

/** Where an open file lies: `O_NOFOLLOW` looks at the last part of a path only. */
function pathOf(descriptor: number, real: string): string {
  return process.platform === 'linux' ? fs.readlinkSync(`/proc/self/fd/${descriptor}`) : fs.realpathSync(real)
}
