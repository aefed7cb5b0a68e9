/**
 * The bytes of a file of agents: what they mean, and in which encoding, its parser finds out.
 *
 * B1 What is opened is what was judged: no link is followed, and the path is looked at again once it is open.
 * B2 Never waits and never reads without a bound: no pipes, no devices; a file that is too large is not read at all.
 * B3 Nothing throws: what cannot be read is a reason in words.
 */
import * as fs from 'node:fs'
import { promisify } from 'node:util'

// Not the file handles of `node:fs/promises`: for thousands of small files those cost twice as much.
const open = promisify(fs.open)
const fstat = promisify<number, fs.Stats>(fs.fstat)
const read = promisify(fs.read)
const close = promisify(fs.close)
const readlink = promisify<string, string>(fs.readlink)
const realpath = promisify<string, string>(fs.realpath)

/** A file's bytes, or why there are none. */
export type BytesReading =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** In bytes. */
  | { readonly kind: 'too-large'; readonly size: number }
  | { readonly kind: 'failed'; readonly reason: string }

/** Reads a plain file of at most `maxBytes` bytes. `real` is a resolved path. */
export async function readBytes(real: string, maxBytes: number): Promise<BytesReading> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants
  try {
    const descriptor = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const stats = await fstat(descriptor)
      if (!stats.isFile()) return { kind: 'failed', reason: 'it is no plain file' }
      if (stats.size > maxBytes) return { kind: 'too-large', size: stats.size }
      if ((await pathOf(descriptor, real)) !== real)
        return { kind: 'failed', reason: 'it was moved while it was opened' }
      return { kind: 'bytes', bytes: await readUpTo(descriptor, stats.size) }
    } finally {
      await close(descriptor)
    }
  } catch (error) {
    return { kind: 'failed', reason: error instanceof Error ? error.message : String(error) }
  }
}

/** The first `size` bytes, or fewer where the file has become shorter. */
async function readUpTo(descriptor: number, size: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(size)
  for (let length = 0; length < size; ) {
    const { bytesRead } = await read(descriptor, buffer, length, size - length, length)
    if (bytesRead === 0) return buffer.subarray(0, length)
    length += bytesRead
  }
  return buffer
}

/** Where an open file lies: `O_NOFOLLOW` looks at the last part of a path only. */
function pathOf(descriptor: number, real: string): Promise<string> {
  return process.platform === 'linux' ? readlink(`/proc/self/fd/${descriptor}`) : realpath(real)
}
