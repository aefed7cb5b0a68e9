/**
 * Reading and writing whole files so that neither a crash nor another process leaves half a file, and so that
 * the file is the one that was judged (C2).
 */
import { createHash } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import { access, type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { type HeldFolder, holdFolder, isStillAt } from './held-folder.ts'
import { systemCode } from './refusals.ts'
import { ToolRefusal } from './tool-refusal.ts'

/** The SHA-256 of a content, in hexadecimal: what {@link SeenFile} and the intents of Write and Edit hold. */
export const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** What a file is besides its content, and keeps when it is replaced. */
export interface FileTraits {
  /** Permission bits. */
  readonly mode: number
  readonly owner: number
  readonly group: number
  /** How many names it has. */
  readonly names: number
  /** Equal for the same file in the same state, good for comparing only. */
  readonly identity: string
}

/** A file as it was read. */
export interface FileContent extends FileTraits {
  readonly bytes: Buffer
}

const ATTEMPTS = 3

/**
 * Reads a plain file whole. `real` is a resolved path.
 *
 * @throws ToolRefusal when it is no plain file, larger than `maxBytes`, or leads elsewhere than it did.
 */
export async function readPlainFile(real: string, maxBytes: number): Promise<FileContent> {
  return withPlainFile(real, async (handle, stats) => {
    if (stats.size > maxBytes) {
      throw new ToolRefusal(
        `${real} has ${stats.size} bytes; this tool takes at most ${maxBytes}. Use Grep to find the part that matters, or Bash.`,
      )
    }
    return { ...traitsOf(stats), bytes: await handle.readFile() }
  })
}

/**
 * Opens a plain file by its resolved path, hands it to `use` and closes it.
 *
 * @throws ToolRefusal when it is no plain file, or leads elsewhere than it did.
 */
export async function withPlainFile<T>(
  real: string,
  use: (handle: FileHandle, stats: BigIntStats) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    // Without blocking: a named pipe that was put in place would hang the call.
    const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await handle.stat({ bigint: true })
      if (!stats.isFile()) throw new ToolRefusal(`${real} is not a plain file.`)
      if (await isStillAt(handle, real)) return await use(handle, stats)
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
  /** The file that is replaced, as it was read; null: there is none, and the new one gets what the system gives. */
  readonly replaces: FileTraits | null
  /** Unique per call. Names the temporary file, so that a repeat of the call takes away what a crash left. */
  readonly key: string
}

/**
 * Replaces a file, or creates it with its folders, in one step: readers see the old content or the new one. It is
 * on disk when this resolves. After a failure nothing but new empty folders is left.
 *
 * Permission bits stay, and owner and group where this process may give them. A further name of the file (hard link)
 * keeps the old content: a link that was made to a file elsewhere changes nothing there.
 *
 * @throws ToolRefusal when the file is not the one that was read any more, or its folder leads elsewhere.
 */
export async function replaceFile({ real, bytes, replaces, key }: Replacement): Promise<void> {
  const folder = await holdFolder(dirname(real), { create: replaces === null })
  const target = folder.at(basename(real))
  const temporary = folder.at(temporaryName(key))
  try {
    if (replaces !== null) await access(target, constants.W_OK)
    try {
      await rm(temporary, { force: true })
      await writeDurably(temporary, bytes, replaces)
      await refuseOther(target, real, replaces)
      await rename(temporary, target)
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Takes away what a crash in the middle of {@link replaceFile} left. */
export async function removeLeftover(real: string, key: string): Promise<void> {
  let folder: HeldFolder
  try {
    folder = await holdFolder(dirname(real))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return
    throw error
  }
  try {
    await rm(folder.at(temporaryName(key)), { force: true })
  } finally {
    await folder.close()
  }
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

function traitsOf(stats: BigIntStats): FileTraits {
  return {
    mode: Number(stats.mode) & 0o7777,
    owner: Number(stats.uid),
    group: Number(stats.gid),
    names: Number(stats.nlink),
    identity: `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}`,
  }
}

function temporaryName(key: string): string {
  return `.troupe-${hashOf(Buffer.from(key)).slice(0, 16)}.tmp`
}

async function writeDurably(path: string, bytes: Buffer, replaces: FileTraits | null): Promise<void> {
  const handle = await open(path, 'wx', replaces?.mode ?? 0o666)
  try {
    await handle.writeFile(bytes)
    if (replaces !== null) await giveTraits(handle, replaces)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const SET_ID_BITS = 0o6000

async function giveTraits(handle: FileHandle, { owner, group, mode }: FileTraits): Promise<void> {
  const mine = await handle.stat()
  const isOwned = (mine.uid === owner && mine.gid === group) || (await giveAway(handle, owner, group))
  // After the owner, which takes bits away; and to another owner a program must not lend its rights.
  await handle.chmod(isOwned ? mode : mode & ~SET_ID_BITS)
}

/** True when this process may give files away like that. */
async function giveAway(handle: FileHandle, owner: number, group: number): Promise<boolean> {
  try {
    await handle.chown(owner, group)
    return true
  } catch (error) {
    if (systemCode(error) === 'EPERM' || systemCode(error) === 'EINVAL') return false
    throw error
  }
}

/** The last look before the rename: other processes do not queue behind `oneAtATime`. */
async function refuseOther(target: string, real: string, replaces: FileTraits | null): Promise<void> {
  const found = await identityAt(target)
  if (found === replaces?.identity) return
  const what = replaces === null ? 'was created' : found === undefined ? 'was deleted' : 'was changed'
  throw new ToolRefusal(
    `${real} ${what} by somebody else in this very moment. Nothing was written. Read it again, then decide.`,
  )
}

/** Undefined when nothing is there. A link, a folder or a pipe is nobody's former state. */
async function identityAt(path: string): Promise<string | undefined> {
  try {
    const stats = await lstat(path, { bigint: true })
    return stats.isFile() ? traitsOf(stats).identity : 'not a plain file'
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}
