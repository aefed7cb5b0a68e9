/**
 * Text files that belong to a project or a person, read so that a hostile repository gains nothing by them.
 *
 * T1 A path is judged by where it leads with every link resolved, and what is opened is what was judged.
 * T2 Never waits and never reads without a bound: no pipes, no devices, nothing of the kernel.
 * T3 Nothing throws: what cannot be read is a reason in words.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises'
import { byteLength, normaliseText, startOfText } from '../../definitions/context/text.ts'
import { messageOf } from '../../definitions/message-of.ts'
import { placePath } from '../tools/confinement.ts'

/** What is at a path. */
export type Located =
  | { readonly kind: 'file'; readonly real: string }
  | { readonly kind: 'folder'; readonly real: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly reason: string }

/** Resolves an absolute path. */
export async function locate(path: string): Promise<Located> {
  try {
    const place = await placePath(path, '/')
    return place.kind === 'missing' ? { kind: 'missing' } : { kind: place.kind, real: place.real }
  } catch (error) {
    return { kind: 'refused', reason: messageOf(error) }
  }
}

/** A file's text, or its start. */
export type TextReading =
  | { readonly kind: 'text'; readonly text: string; readonly isStart: boolean; readonly size: number }
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Reads at most `maxBytes` bytes of a plain UTF-8 file, never half a character; without byte order mark, line ends
 * as `\n`. `real` is a resolved path. `size` is that of the whole file, in bytes.
 */
export async function readTextFile(real: string, maxBytes: number): Promise<TextReading> {
  try {
    const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) return failed('it is no plain file')
      if ((await pathOf(handle, real)) !== real) return failed('it was moved while it was opened')
      const bytes = await readStart(handle, maxBytes + 1)
      const isStart = bytes.length > maxBytes
      if (bytes.includes(0)) return failed('it is no UTF-8 text')
      // As part of a stream, so that a character which the bound cuts is left out instead of replaced.
      const decoded = new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: isStart })
      // What is no UTF-8 becomes U+FFFD, which is longer than what it stands for.
      const text = startOfText(normaliseText(decoded), maxBytes)
      const isWhole = !isStart && byteLength(normaliseText(decoded)) <= maxBytes
      return { kind: 'text', text, isStart: !isWhole, size: Math.max(stats.size, bytes.length) }
    } finally {
      await handle.close()
    }
  } catch (error) {
    return failed(messageOf(error))
  }
}

async function readStart(handle: FileHandle, maxBytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(maxBytes)
  let length = 0
  while (length < maxBytes) {
    const { bytesRead } = await handle.read(buffer, length, maxBytes - length, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
}

/** Where an open file lies: `O_NOFOLLOW` looks at the last part of a path only. */
function pathOf(handle: FileHandle, real: string): Promise<string> {
  return process.platform === 'linux' ? readlink(`/proc/self/fd/${handle.fd}`) : realpath(real)
}

const failed = (reason: string): TextReading => ({ kind: 'failed', reason })
