/**
 * One pipe for standard output and error of a child, so that what both wrote comes out in the order it was
 * written.
 *
 * It is a named pipe that loses its name at once, not one of Node's own: those are socket pairs on Unix, and a
 * script that opens `/dev/stderr` fails on a socket ("No such device or address").
 */
import { execFile } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as aTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { pause } from './pause.ts'

export interface OutputPipe {
  /** The writing end, for a child's `stdio`. */
  readonly writingEnd: number
  /** Closes this process's copy of the writing end: the pipe ends when the last child that holds one is gone. */
  handedOver(): void
  /**
   * Resolves when everything was read, or after `ms` milliseconds and when the pipe has been read empty: a process
   * that left the group may hold the writing end for ever. The reading end is closed then.
   */
  drain(ms: number): Promise<void>
}

/** Turns of the event loop without a chunk after which nothing is in the pipe; each of them reads what there is. */
const QUIET_TURNS = 3
/** Turns that are waited for whoever goes on writing. */
const MOST_TURNS = 1_000

/** Opens a pipe that hands what is written to `onChunk`. Rejects when the temporary folder takes no pipe. */
export async function openOutputPipe(onChunk: (chunk: Buffer) => void): Promise<OutputPipe> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-pipe-'))
  const path = join(folder, 'output')
  try {
    await promisify(execFile)('mkfifo', ['-m', '600', path])
    // The reading end first and without blocking: each end waits for the other otherwise.
    const readingEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const writingEnd = openSync(path, constants.O_WRONLY)
    return readFrom(readingEnd, writingEnd, onChunk)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function readFrom(readingEnd: number, writingEnd: number, onChunk: (chunk: Buffer) => void): OutputPipe {
  const reader = new Socket({ fd: readingEnd, readable: true, writable: false })
  const closed = new Promise<void>((resolve) => reader.once('close', () => resolve()))
  let chunks = 0
  let isClosed = false
  void closed.then(() => {
    isClosed = true
  })
  reader.on('data', (chunk) => {
    chunks += 1
    onChunk(chunk)
  })
  // A broken read is the end of the output, no more: 'close' follows.
  reader.on('error', () => {})
  let isOpen = true
  const handedOver = (): void => {
    if (isOpen) closeSync(writingEnd)
    isOpen = false
  }
  return {
    writingEnd,
    handedOver,
    async drain(ms) {
      handedOver()
      const giveUp = new AbortController()
      await Promise.race([closed, pause(ms, giveUp.signal)])
      giveUp.abort()
      // The time may have passed while this process did not run, on a busy machine: what is in the pipe is read first.
      for (let turn = 0, quiet = 0; turn < MOST_TURNS && quiet < QUIET_TURNS && !isClosed; turn++) {
        const before = chunks
        await aTurn()
        quiet = chunks === before ? quiet + 1 : 0
      }
      reader.destroy()
      await closed
    },
  }
}
