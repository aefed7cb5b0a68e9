/**
 * Reading and writing whole files so that neither a crash nor another process leaves half a file, and so that
 * the file is the one that was judged (C2).
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { access, type FileHandle, mkdir, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ToolRefusal } from './tool-refusal.ts'

/** The SHA-256 of a content, in hexadecimal: what {@link SeenFile} and the intents of Write and Edit hold. */
export const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** The content of a file, and its permission bits. */
export interface FileContent {
  readonly bytes: Buffer
  readonly mode: number
}

const ATTEMPTS = 3

/**
 * Reads a plain file whole. `real` is a resolved path.
 *
 * @throws ToolRefusal when it is no plain file, larger than `maxBytes`, or leads elsewhere than it did.
 */
export async function readPlainFile(real: string, maxBytes: number): Promise<FileContent> {
  for (let attempt = 1; ; attempt++) {
    // Without blocking: a named pipe that was put in place would hang the call.
    const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) throw new ToolRefusal(`${real} is not a plain file.`)
      if (stats.size > maxBytes) {
        throw new ToolRefusal(
          `${real} has ${stats.size} bytes; this tool takes at most ${maxBytes}. Use Grep to find the part that matters, or Bash.`,
        )
      }
      if (await isStillAt(handle, real)) return { bytes: await handle.readFile(), mode: stats.mode & 0o7777 }
    } finally {
      await handle.close()
    }
    // Another agent may have replaced it in this very moment; the next look finds the new one.
    if (attempt === ATTEMPTS) throw new ToolRefusal(`${real} was moved while it was opened. Try again.`)
  }
}

/** What {@link replaceFile} writes. */
export interface Replacement {
  /** Resolved path. */
  readonly real: string
  readonly bytes: Buffer
  /** Permission bits of a file that exists; undefined: a new file, with the bits that the system gives. */
  readonly mode: number | undefined
  /** Unique per call. Names the temporary file, so that a repeat of the call takes away what a crash left. */
  readonly key: string
}

/**
 * Replaces a file, or creates it with its folders, in one step: readers see the old content or the new one. It is
 * on disk when this resolves. After a failure nothing but new empty folders is left.
 */
export async function replaceFile({ real, bytes, mode, key }: Replacement): Promise<void> {
  if (mode !== undefined) await access(real, constants.W_OK)
  const folder = dirname(real)
  await mkdir(folder, { recursive: true })
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    if (!(await isStillAt(handle, folder))) {
      throw new ToolRefusal(`${folder} leads elsewhere than a moment ago. Nothing was written.`)
    }
    // By way of the open folder, where the system has such a way: it stays the one that was judged.
    const held = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : folder
    const temporary = join(held, temporaryName(key))
    try {
      await rm(temporary, { force: true })
      await writeDurably(temporary, bytes, mode)
      await rename(temporary, join(held, basename(real)))
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Takes away what a crash in the middle of {@link replaceFile} left. */
export async function removeLeftover(real: string, key: string): Promise<void> {
  await rm(join(dirname(real), temporaryName(key)), { force: true })
}

const queues = new Map<string, Promise<unknown>>()

/**
 * Runs one body at a time per path. Siblings share a checkout: between one's look at a file and its write no
 * other agent of this process writes it.
 */
export async function oneAtATime<T>(real: string, body: () => Promise<T>): Promise<T> {
  const before = queues.get(real) ?? Promise.resolve()
  const mine = before.then(body, body)
  queues.set(real, mine)
  try {
    return await mine
  } finally {
    if (queues.get(real) === mine) queues.delete(real)
  }
}

function temporaryName(key: string): string {
  return `.troupe-${hashOf(Buffer.from(key)).slice(0, 16)}.tmp`
}

async function writeDurably(path: string, bytes: Buffer, mode: number | undefined): Promise<void> {
  const handle = await open(path, 'wx', mode ?? 0o666)
  try {
    await handle.writeFile(bytes)
    // The mode given to `open` is cut by the umask.
    if (mode !== undefined) await handle.chmod(mode)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Whether an open file is what lies at its path, with no link on the way. */
async function isStillAt(handle: FileHandle, real: string): Promise<boolean> {
  if (process.platform === 'linux') return (await readlink(`/proc/self/fd/${handle.fd}`)) === real
  if ((await realpath(real)) !== real) return false
  const [held, found] = await Promise.all([handle.stat(), stat(real)])
  return held.dev === found.dev && held.ino === found.ino
}
