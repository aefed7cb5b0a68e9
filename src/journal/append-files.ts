/**
 * Open files that are only appended to.
 *
 * Owns: handles and their number, the length of each file, cutting back. Does not own: when something is durable
 * (`group-commit.ts`).
 *
 *   A1  A write is whole or undone. Where undoing fails, the path is poisoned: it takes no more writes.
 *   A2  At most `maxOpenFiles` handles are open, not counting those whose sync is in flight.
 *   A3  A file that does not end in a line feed gets one in front of its next write (S3 of the port).
 */
import { dirname } from 'node:path'
import { makeFolder } from './make-folder.ts'
import { StorageError } from './storage.ts'
import { errnoOf, poisonedError, toStorageError } from './storage-errors.ts'

/** The calls to the operating system that writing needs; `node:fs` has them all. Tests put failures in. */
export interface FileCalls {
  openSync(path: string, flags: string, mode?: number): number
  closeSync(fd: number): void
  fstatSync(fd: number): { readonly size: number }
  readSync(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number
  writeSync(fd: number, text: string): number
  ftruncateSync(fd: number, length: number): void
  fdatasync(fd: number, done: (error: Error | null) => void): void
  fsync(fd: number, done: (error: Error | null) => void): void
  fdatasyncSync(fd: number): void
  fsyncSync(fd: number): void
  mkdirSync(path: string, options: { readonly mode: number }): unknown
  renameSync(from: string, to: string): void
  unlinkSync(path: string): void
}

/** One open file. Mutable: only this module and the commit that syncs it change it. */
export interface AppendFile {
  readonly path: string
  readonly fd: number
  /** Length after the last write, in bytes. */
  size: number
  /** Length up to which it is known to survive. What was there when it was opened counts. */
  durable: number
  /** It does not end in a line feed. */
  torn: boolean
  /** Folders to sync before the file is durable: those that its creation has changed. */
  foldersToSync: readonly string[]
  /** Written since the last sync. Always false where nothing is synced. */
  dirty: boolean
  /** A sync is in flight: the handle must stay. */
  syncing: boolean
  /** Close as soon as nothing is dirty or in flight. */
  released: boolean
  closed: boolean
}

export interface AppendFiles {
  /** The open file; opened, and created with its folders, if need be. Throws a `StorageError`. */
  open(path: string): AppendFile
  /** Writes whole lines at the end. Throws a `StorageError`, after undoing what it can (A1). */
  write(file: AppendFile, text: string): void
  /** Cuts a file back to an earlier length; poisons it where that fails. */
  cutBack(file: AppendFile, size: number, torn: boolean): void
  poison(path: string, cause: unknown): void
  isPoisoned(path: string): boolean
  /** Lets go of a file, now or when its sync is through. */
  release(path: string): void
  closeIfReleased(file: AppendFile): void
  closeAll(): void
}

/** `beforeClose` makes a dirty file durable; it is called when a handle has to go for another one (A2). */
export function createAppendFiles(
  fs: FileCalls,
  maxOpenFiles: number,
  beforeClose: (file: AppendFile) => void,
): AppendFiles {
  /** Least recently used first. */
  const open = new Map<string, AppendFile>()
  const poisoned = new Map<string, unknown>()

  const close = (file: AppendFile): void => {
    file.closed = true
    if (open.get(file.path) === file) open.delete(file.path)
    fs.closeSync(file.fd)
  }

  const makeRoom = (limit: number): void => {
    for (const file of open.values()) {
      if (open.size < limit) return
      if (file.syncing) continue
      if (file.dirty) beforeClose(file)
      close(file)
    }
  }

  const openFile = (path: string): AppendFile => {
    try {
      return openAppend(fs, path)
    } catch (error) {
      const errno = errnoOf(error)
      if (errno !== 'EMFILE' && errno !== 'ENFILE') throw toStorageError(error, path, 'opening')
    }
    // Others in this process use up its handles: do with half of ours.
    makeRoom(Math.ceil(open.size / 2))
    try {
      return openAppend(fs, path)
    } catch (error) {
      throw toStorageError(error, path, 'opening')
    }
  }

  const poison = (path: string, cause: unknown): void => {
    if (!poisoned.has(path)) poisoned.set(path, cause)
  }

  const cutBack = (file: AppendFile, size: number, torn: boolean): void => {
    try {
      if (file.closed) throw new Error('its handle is closed')
      fs.ftruncateSync(file.fd, size)
      file.size = size
      file.torn = torn
    } catch (error) {
      poison(file.path, error)
    }
  }

  return {
    open: (path) => {
      if (poisoned.has(path)) throw poisonedError(path, poisoned.get(path))
      const known = open.get(path)
      if (known !== undefined) {
        open.delete(path)
        open.set(path, known)
        known.released = false
        return known
      }
      makeRoom(maxOpenFiles)
      const file = openFile(path)
      open.set(path, file)
      return file
    },
    write: (file, text) => {
      const whole = file.torn ? `\n${text}` : text
      const bytes = Buffer.byteLength(whole)
      let written: number
      try {
        written = fs.writeSync(file.fd, whole)
      } catch (error) {
        cutBack(file, file.size, file.torn)
        throw toStorageError(error, file.path, 'appending to')
      }
      if (written !== bytes) {
        cutBack(file, file.size, file.torn)
        const message = `appending to ${file.path} stopped after ${written} of ${bytes} bytes; is the disk full?`
        throw new StorageError('short-write', file.path, message)
      }
      file.size += bytes
      file.torn = false
    },
    cutBack,
    poison,
    isPoisoned: (path) => poisoned.has(path),
    release: (path) => {
      const file = open.get(path)
      if (file === undefined) return
      file.released = true
      if (!file.dirty && !file.syncing) close(file)
    },
    closeIfReleased: (file) => {
      if (file.released && !file.closed && !file.dirty && !file.syncing) close(file)
    },
    closeAll: () => {
      for (const file of [...open.values()]) close(file)
    },
  }
}

function openAppend(fs: FileCalls, path: string): AppendFile {
  const { fd, createdFolder } = openOrCreate(fs, path)
  try {
    const { size } = fs.fstatSync(fd)
    return {
      path,
      fd,
      size,
      durable: size,
      torn: size > 0 && lastByte(fs, fd, size) !== 0x0a,
      foldersToSync: size === 0 ? changedFolders(path, createdFolder) : [],
      dirty: false,
      syncing: false,
      released: false,
      closed: false,
    }
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
}

/** The descriptor, and the topmost folder that had to be created. */
function openOrCreate(
  fs: FileCalls,
  path: string,
): { readonly fd: number; readonly createdFolder: string | undefined } {
  try {
    return { fd: fs.openSync(path, 'a+', 0o600), createdFolder: undefined }
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
  const createdFolder = makeFolder(dirname(path), fs)
  return { fd: fs.openSync(path, 'a+', 0o600), createdFolder }
}

function lastByte(fs: FileCalls, fd: number, size: number): number | undefined {
  const buffer = new Uint8Array(1)
  fs.readSync(fd, buffer, 0, 1, size - 1)
  return buffer[0]
}

/** The folder of a new file, and those above it up to the parent of the topmost new one. */
export function changedFolders(path: string, createdFolder: string | undefined): string[] {
  const folders = [dirname(path)]
  if (createdFolder === undefined) return folders
  const top = dirname(createdFolder)
  for (let folder = dirname(path); folder !== top && folder !== dirname(folder); ) {
    folder = dirname(folder)
    folders.push(folder)
  }
  return folders
}
