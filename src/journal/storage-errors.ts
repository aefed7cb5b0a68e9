/** Errors of the operating system, in the words of the storage port. */

import { messageOf } from '../definitions/message-of.ts'
import type { StorageErrorCode } from './storage.ts'
import { StorageError } from './storage.ts'

const CODES: Readonly<Record<string, StorageErrorCode>> = {
  ENOENT: 'not-found',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'denied',
  EISDIR: 'is-a-directory',
}

const ADVICE: Readonly<Partial<Record<StorageErrorCode, string>>> = {
  full: 'free space on that disk and try again',
  denied: 'give this user the right to it, or set another home folder (TROUPE_HOME)',
  'is-a-directory': 'a folder is where a file has to be; move it away',
}

/** A failed operation on a file as a `StorageError`; one that is already, stays as it is. */
export function toStorageError(error: unknown, path: string, doing: string): StorageError {
  if (StorageError.is(error)) return error
  const errno = errnoOf(error)
  const code = CODES[errno] ?? 'io'
  const why = messageOf(error)
  const advice = ADVICE[code]
  return new StorageError(
    code,
    path,
    `${doing} ${path} failed: ${why}${advice === undefined ? '' : `; ${advice}`}`,
    error,
  )
}

/** `ENOSPC` and the like; empty for an error without one. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** The error of a file that takes no more writes. */
export function poisonedError(path: string, cause: unknown): StorageError {
  return new StorageError(
    'poisoned',
    path,
    `${path} takes no more writes from this process: an earlier failure could not be undone, so what is on the disk ` +
      'is uncertain. Check the disk, then resume the session in a new process',
    cause,
  )
}
