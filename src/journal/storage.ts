/**
 * Where logs live, as a port. The journal above it knows lines; this knows bytes and files.
 *
 *   S1  After `append` has resolved (or returned), its bytes survive what the durability promises: `write` the
 *       end of this process, `fsync` the end of the machine.
 *   S2  A failed append leaves each file as it was before, as far as the disk lets it: it is cut back to its last
 *       durable length. After a failed sync, or where cutting back fails, the file takes no more writes.
 *   S3  A file that does not end in a line feed gets one before the next append, so that a torn tail never
 *       swallows a good line.
 */

import type { LockInfo, LockOptions, SessionLock } from './session-lock.ts'

/** Nothing, or a promise of it: small appends may be synchronous, which costs a quarter. */
export type MaybePromise<T> = T | Promise<T>

/** What `durable` means: written to the operating system, or synced to the disk. */
export type Durability = 'write' | 'fsync'

/** Whole lines for the end of one file. */
export interface Append {
  readonly path: string
  readonly text: string
}

/** What a listing needs to know about a file. */
export interface FileStat {
  readonly bytes: number
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number
  /**
   * Which file it is, whatever its name: another one after it was replaced, the same after an append. Absent where a
   * storage cannot tell.
   */
  readonly identity?: string
}

export interface Storage {
  /**
   * Appends to several files as one batch; each file gets its bytes in order, in one write. Creates a missing
   * file with mode 0600, its folders with 0700, and syncs the folder. Throws or rejects with a `StorageError`.
   */
  append(batch: readonly Append[]): MaybePromise<void>
  /** The bytes of a file in chunks, from `offset`. Throws a `StorageError` with code `not-found` when there is none. */
  read(path: string, offset?: number): AsyncIterable<Uint8Array>
  /**
   * Writes a whole small file atomically (temporary file, rename) and durably: blobs. Only for folders that nobody else
   * writes in, such as those of a session whose lock is held: what others left half-written there is taken away.
   */
  writeWhole(path: string, text: string): MaybePromise<void>
  /** Writes a small file that can be made again from a log: as cheaply as can be, a crash may leave it torn or missing. */
  writeDerived(path: string, text: string): void
  exists(path: string): MaybePromise<boolean>
  /** Size and last change of a file; undefined when there is none. */
  stat(path: string): MaybePromise<FileStat | undefined>
  /** Names in a folder, sorted; empty when there is no such folder. */
  list(folder: string): Promise<readonly string[]>
  /**
   * Takes the lock at `path`, creating its folder. Throws a `SessionLockedError` when another engine holds it, also
   * one of this process, and a `StorageError` when it cannot be written.
   */
  lock(path: string, info: LockInfo, options?: LockOptions): SessionLock
  /** No more appends to this file for now: lets go of its handle. */
  release(path: string): void
  /** Waits for what is in flight and lets go of everything. */
  close(): Promise<void>
}

/** Why a file operation did not do what it should. Each is explained in `docs/errors.md`. */
export type StorageErrorCode =
  | 'closed'
  /** Storage in memory only: a test has ended its process. */
  | 'crashed'
  /** A blob: its bytes are not those that its name stands for. */
  | 'damaged'
  | 'denied'
  | 'full'
  | 'io'
  | 'is-a-directory'
  | 'not-found'
  /** An earlier failure could not be undone. */
  | 'poisoned'
  | 'short-write'

/** A file operation that did not do what it should. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
  readonly code: StorageErrorCode
  readonly path: string

  constructor(code: StorageErrorCode, path: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.path = path
  }

  static is(value: unknown): value is StorageError {
    return value instanceof Error && value.name === 'StorageError'
  }
}
