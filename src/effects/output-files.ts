/**
 * Output files: what an agent in the background does, and at the end its report, for people and for agents that read
 * files. Derived from the log; whoever loses one loses nothing.
 *
 *   O1  Only ever written inside the project's own folder: a link on the way to it is refused, not followed.
 *   O2  A file stays within its bytes. Progress has half of them; of a report that does not fit, head and tail are kept.
 *   O3  Nothing is thrown: a disk that is full costs the file, not the agent. The first failure is told.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { systemCode } from './tools/refusals.ts'

/** The files of one project. */
export interface OutputFiles {
  pathOf(agentId: string): string
  /** Adds a line of progress. */
  progress(agentId: string, line: string): void
  /** Adds the report of a run, once. `heading` tells it from those of other runs. */
  report(agentId: string, heading: string, text: string): void
}

export interface OutputFilesOptions {
  /** The project: absolute, links resolved. */
  readonly project: string
  /** Bytes of one file. Default 5 MB. */
  readonly maxBytes?: number
  /** What could not be written, once. */
  readonly onFailure: (path: string, error: unknown) => void
}

const DEFAULT_BYTES = 5 * 1024 * 1024
const NAME = /^[\w-]+$/u

/** The output files of a project, in `.claude/tasks`, which git ignores. Touches nothing before the first line. */
export function createOutputFiles({
  project,
  maxBytes = DEFAULT_BYTES,
  onFailure,
}: OutputFilesOptions): OutputFiles {
  const folder = join(project, '.claude', 'tasks')
  const full = new Set<string>()
  let isReady = false
  let hasFailed = false

  const pathOf = (agentId: string): string => join(folder, `${agentId}.output`)

  /** Runs `write` on the open file. */
  const withFile = (agentId: string, write: (file: number, size: number) => void): void => {
    const path = pathOf(agentId)
    try {
      if (!NAME.test(agentId)) throw new Error(`"${agentId}" names no file`)
      if (!isReady) prepareFolder(project, folder)
      isReady = true
      const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW } = constants
      const file = openSync(path, O_APPEND | O_CREAT | O_RDWR | O_NOFOLLOW, 0o600)
      try {
        write(file, fstatSync(file).size)
      } finally {
        closeSync(file)
      }
    } catch (error) {
      if (!hasFailed) onFailure(path, error)
      hasFailed = true
    }
  }

  return {
    pathOf,
    progress: (agentId, line) => {
      if (full.has(agentId)) return
      withFile(agentId, (file, size) => {
        const text = `${line}\n`
        if (size + Buffer.byteLength(text) <= maxBytes / 2) writeSync(file, text)
        else {
          full.add(agentId)
          writeSync(file, '[more was done than fits here]\n')
        }
      })
    },
    report: (agentId, heading, text) =>
      withFile(agentId, (file, size) => {
        // After a crash nobody knows whether it was written.
        if (size > 0 && readFileSync(file, 'utf8').includes(`${heading}\n`)) return
        const head = Buffer.from(`${heading}\n`)
        const body = cutMiddle(Buffer.from(`${text}\n`), maxBytes - size - head.length)
        if (body !== undefined) writeSync(file, Buffer.concat([head, body]))
      }),
  }
}

/** Makes the folder, and the file that keeps it out of git. Throws when something on the way is no folder of its own. */
function prepareFolder(project: string, folder: string): void {
  for (const path of [join(project, '.claude'), folder]) {
    try {
      mkdirSync(path)
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error
      if (!lstatSync(path).isDirectory()) throw new Error(`${path} is a link or a file, not a folder`)
    }
  }
  const { O_CREAT, O_EXCL, O_WRONLY } = constants
  try {
    const file = openSync(join(folder, '.gitignore'), O_CREAT | O_EXCL | O_WRONLY, 0o644)
    try {
      writeSync(file, '*\n')
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
}

/** At most `room` bytes: all, or head and tail with a line between; undefined: not even that line has room. Never splits a character. */
function cutMiddle(bytes: Buffer, room: number): Buffer | undefined {
  if (bytes.length <= room) return bytes
  const marker = Buffer.from(`\n[… ${bytes.length} bytes in all; the middle is left out …]\n`)
  if (room < marker.length) return undefined
  const half = Math.floor((room - marker.length) / 2)
  return Buffer.concat([
    bytes.subarray(0, characterAt(bytes, half, -1)),
    marker,
    bytes.subarray(characterAt(bytes, bytes.length - half, 1)),
  ])
}

/** Whether a byte goes on with a UTF-8 character that begins before it. */
const goesOn = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** The nearest start of a character, or the end, going from a byte in steps of -1 or 1. */
function characterAt(bytes: Buffer, at: number, step: -1 | 1): number {
  let start = at
  while (goesOn(bytes[start])) start += step
  return start
}
