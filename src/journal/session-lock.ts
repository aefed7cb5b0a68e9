/**
 * One writer per session (law 10): a file that names its owner.
 *
 *   L1  The lock appears whole or not at all: it is written beside and then linked to its name, which fails when the
 *       name is taken.
 *   L2  A dead owner's lock is replaced in one step, so that there is never a moment without a lock.
 *   L3  Only who holds the *claim* on it may replace a lock. The claim is a lock itself, on a file named after the
 *       dead owner; whoever gets it looks again before replacing, as another taker may have been through in between.
 *       A taker that dies leaves a claim that is taken over in turn.
 *   L4  A lock that cannot be read names nobody. By L1 it is no lock in the making, unless the file system knows no
 *       links; so it counts as live while it is younger than {@link UNREADABLE_GRACE_MS}, and as dead after that
 *       (a loss of power leaves such files).
 *   L5  What takers that died left beside a lock (temporaries, claims) goes with the next one who gets it. Each names
 *       its owner, so what a living one has just written stays.
 *
 * All calls are synchronous: they happen once per session.
 */
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { makeFolder } from './make-folder.ts'
import { ProcessIdentity, thisProcess, whereaboutsOf } from './process-identity.ts'
import { errnoOf, toStorageError } from './storage-errors.ts'

/** How long a lock that cannot be read is taken for one that is being written, in milliseconds. */
export const UNREADABLE_GRACE_MS = 10_000

/** Who holds a session. */
const LockOwner = ProcessIdentity.extend({
  /** The engine within the process. */
  engine: z.string(),
  /** ISO 8601. */
  startedAt: z.string(),
})
export type LockOwner = z.infer<typeof LockOwner>

/** What the engine says about itself. */
export interface LockInfo {
  /** Tells the engines of one process apart in messages. */
  readonly engine: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

export interface LockOptions {
  /** Replace the lock of another host or container, of which nobody can tell from here whether it is alive. */
  readonly takeOver?: boolean
}

export interface SessionLock {
  readonly owner: LockOwner
  /** Removes the lock if it is still ours. Once is enough; more do nothing. */
  release(): void
}

/** Somebody else holds the session. */
export class SessionLockedError extends Error {
  override readonly name = 'SessionLockedError'
  readonly code = 'session-locked'
  readonly path: string
  /** Undefined when the lock cannot be read. */
  readonly owner: LockOwner | undefined

  constructor(path: string, owner: LockOwner | undefined, message: string) {
    super(message)
    this.path = path
    this.owner = owner
  }

  static is(value: unknown): value is SessionLockedError {
    return value instanceof Error && value.name === 'SessionLockedError'
  }
}

/**
 * Takes the lock at `path`, creating its folder. Throws {@link SessionLockedError} when another engine holds it, also
 * one of this process, and a `StorageError` when the file cannot be written.
 */
export function acquireSessionLock(path: string, info: LockInfo, options: LockOptions = {}): SessionLock {
  const owner: LockOwner = {
    ...thisProcess(),
    engine: info.engine,
    startedAt: new Date(info.startedAt).toISOString(),
    // What one acquisition is told from another by.
    id: randomUUID(),
  }
  try {
    makeFolder(dirname(path))
    acquire(path, owner, options.takeOver === true)
    removeLeftovers(path, owner)
  } catch (error) {
    throw SessionLockedError.is(error) ? error : toStorageError(error, path, 'locking')
  }
  return { owner, release: () => releaseLock(path, owner) }
}

/** A lock as it was found. `key` changes with its owner. */
interface FoundLock {
  readonly key: string
  readonly owner: LockOwner | undefined
  readonly modifiedAt: number
}

function acquire(path: string, owner: LockOwner, takeOver: boolean): void {
  for (;;) {
    if (createExclusively(path, owner)) return
    const found = findLock(path)
    // Released between the two looks: try again.
    if (found === undefined) continue
    const refusal = refuse(path, found, owner, takeOver)
    if (refusal !== undefined) throw refusal
    if (replace(path, found, owner)) return
  }
}

/** Replaces a dead owner's lock (L2, L3). False when it is another owner's by now. */
function replace(path: string, dead: FoundLock, owner: LockOwner): boolean {
  const claim = `${path}.${dead.key}`
  acquire(claim, owner, false)
  try {
    if (findLock(path)?.key !== dead.key) return false
    const temporary = writeTemporary(path, owner)
    renameSync(temporary, path)
    return true
  } finally {
    releaseLock(claim, owner)
  }
}

const TEMPORARY = /\.[0-9a-f-]{36}\.tmp$/

/** Takes away what dead takers left (L5). Only who holds the lock may: claims on it are of no use to anybody then. */
function removeLeftovers(path: string, self: LockOwner): void {
  const folder = dirname(path)
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(`${basename(path)}.`)) continue
    const left = join(folder, name)
    try {
      const found = findLock(left)
      // What cannot be read may be anybody's file, unless it has the name of a temporary.
      if (found === undefined || (found.owner === undefined && !TEMPORARY.test(name))) continue
      if (isDead(found, self)) rmSync(left, { force: true })
    } catch {
      // The lock is held all the same; whoever gets it next tries again.
    }
  }
}

/** Whether nobody holds it any more (L4). */
function isDead({ owner, modifiedAt }: FoundLock, self: LockOwner): boolean {
  return owner === undefined
    ? Date.now() - modifiedAt > UNREADABLE_GRACE_MS
    : whereaboutsOf(owner, self) === 'dead'
}

function refuse(
  path: string,
  found: FoundLock,
  self: LockOwner,
  takeOver: boolean,
): SessionLockedError | undefined {
  if (isDead(found, self)) return undefined
  const { owner } = found
  if (owner === undefined) {
    const message = `the lock ${path} cannot be read and is only seconds old; try again in ${UNREADABLE_GRACE_MS / 1000} seconds`
    return new SessionLockedError(path, undefined, message)
  }
  const isElsewhere = whereaboutsOf(owner, self) === 'elsewhere'
  if (isElsewhere && takeOver) return undefined
  const who = `process ${owner.pid} on ${owner.host} since ${owner.startedAt} (engine ${owner.engine})`
  const advice = isElsewhere
    ? 'Whether it still runs cannot be seen from here: if it does not, take the session over (--take-over)'
    : owner.pid === self.pid
      ? 'That is this very process: close the other engine first'
      : 'Wait until it ends, or end it, and try again'
  return new SessionLockedError(path, owner, `the session is in use by ${who}; lock ${path}. ${advice}`)
}

function findLock(path: string): FoundLock | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    const { mtimeMs, ino } = statSync(path)
    const owner = parseOwner(text)
    const id = owner?.['id']
    // It becomes part of a file's name. One that we have not written might be a path, or too long.
    const key = typeof id === 'string' && /^[\w-]{1,64}$/.test(id) ? id : `unreadable-${ino}`
    return { key, owner, modifiedAt: mtimeMs }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function parseOwner(text: string): LockOwner | undefined {
  try {
    return LockOwner.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** Puts the lock at its name, whole, unless the name is taken (L1). */
function createExclusively(path: string, owner: LockOwner): boolean {
  const temporary = writeTemporary(path, owner)
  try {
    linkSync(temporary, path)
    return true
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'EEXIST') return false
    if (errno === 'ENOENT') throw error
    // A file system without links: not whole at once, but still exclusive.
    return writeExclusively(path, owner)
  } finally {
    unlinkSync(temporary)
  }
}

function writeExclusively(path: string, owner: LockOwner): boolean {
  let fd: number
  try {
    fd = openSync(path, 'wx', 0o600)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
  try {
    writeFileSync(fd, textOf(owner))
  } finally {
    closeSync(fd)
  }
  return true
}

function writeTemporary(path: string, owner: LockOwner): string {
  const temporary = `${path}.${randomUUID()}.tmp`
  writeFileSync(temporary, textOf(owner), { mode: 0o600, flag: 'wx' })
  return temporary
}

const textOf = (owner: LockOwner): string => `${JSON.stringify(owner)}\n`

function releaseLock(path: string, owner: LockOwner): void {
  const found = findLock(path)
  // A claim may be gone in this very moment (L5).
  if (found?.owner?.['id'] === owner['id']) rmSync(path, { force: true })
}
