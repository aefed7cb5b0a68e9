/**
 * The storage port on the file system.
 *
 * Appends are synchronous writes to open handles: for the few hundred bytes of an event that is several times
 * cheaper than a trip through the thread pool. With `fsync` the sync behind them is asynchronous and shared.
 */

import { randomUUID } from 'node:crypto'
import * as nodeFs from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { AppendFile, FileCalls } from './append-files.ts'
import { changedFolders, createAppendFiles } from './append-files.ts'
import { call, createGroupCommit, syncFolder } from './group-commit.ts'
import { makeFolder } from './make-folder.ts'
import { acquireSessionLock } from './session-lock.ts'
import type { Append, Durability, MaybePromise, Storage } from './storage.ts'
import { StorageError } from './storage.ts'
import { errnoOf, toStorageError } from './storage-errors.ts'

export interface FileStorageOptions {
  readonly durability: Durability
  /** Handles kept open for appends. Default 128; a process may often have 1,024 in all. */
  readonly maxOpenFiles?: number
  /** The operating system. Default `node:fs`. */
  readonly fs?: FileCalls
}

const CHUNK_BYTES = 256 * 1024

/** In the names of this process's temporary files: what has another one there is of a process that died. */
const WRITER = randomUUID()
const TEMPORARY = /\.([\da-f-]+)-\d+\.tmp$/
/** Folders remembered as tidy. One that is forgotten is looked at once more. */
const MAX_TIDY_FOLDERS = 1_000

/** Makes a storage in which paths are paths of files. */
export function createFileStorage(options: FileStorageOptions): Storage {
  const { durability, maxOpenFiles = 128, fs = nodeFs } = options
  const syncs = durability === 'fsync'
  const commit = createGroupCommit(fs, () => files)
  const files = createAppendFiles(fs, maxOpenFiles, commit.syncNow)
  let closed = false
  let temporaries = 0
  const tidyFolders = new Set<string>()

  /**
   * Takes away what processes left that died in the middle of {@link writeWhole}. Where this one writes, no other one
   * does: it holds the lock.
   */
  const tidy = (folder: string): void => {
    if (tidyFolders.has(folder)) return
    if (tidyFolders.size >= MAX_TIDY_FOLDERS) tidyFolders.clear()
    tidyFolders.add(folder)
    for (const name of nodeFs.readdirSync(folder)) {
      const writer = TEMPORARY.exec(name)?.[1]
      if (writer !== undefined && writer !== WRITER) removeQuietly(fs, join(folder, name))
    }
  }

  /** Writes to all files of a batch or to none. */
  const writeBatch = (batch: readonly Append[]): readonly AppendFile[] => {
    const undo: (() => void)[] = []
    const written: AppendFile[] = []
    try {
      for (const { path, text } of batch) {
        const file = files.open(path)
        const { size, torn } = file
        files.write(file, text)
        file.dirty = syncs
        written.push(file)
        undo.push(() => files.cutBack(file, size, torn))
      }
    } catch (error) {
      for (const cutBack of undo.reverse()) cutBack()
      throw error
    }
    return written
  }

  const append = (batch: readonly Append[]): MaybePromise<void> => {
    if (closed)
      throw new StorageError('closed', batch[0]?.path ?? '', 'the storage is closed: nothing was appended')
    const written = writeBatch(batch.length > 1 ? onePerFile(batch) : batch)
    if (syncs && written.length > 0) return commit.join(written)
  }

  const writeWhole = (path: string, text: string): MaybePromise<void> => {
    temporaries += 1
    const temporary = `${path}.${WRITER}-${temporaries}.tmp`
    try {
      const createdFolder = makeFolder(dirname(path), fs)
      if (createdFolder === undefined) tidy(dirname(path))
      const fd = fs.openSync(temporary, 'wx', 0o600)
      const folders = changedFolders(path, createdFolder)
      try {
        writeAll(fs, fd, temporary, text)
        if (!syncs) fs.closeSync(fd)
      } catch (error) {
        fs.closeSync(fd)
        throw error
      }
      if (syncs) return finishDurably(fs, fd, temporary, path, folders)
      fs.renameSync(temporary, path)
    } catch (error) {
      removeQuietly(fs, temporary)
      throw toStorageError(error, path, 'writing')
    }
  }

  const writeDerived = (path: string, text: string): void => {
    const write = (): void => {
      const fd = fs.openSync(path, 'w', 0o600)
      try {
        writeAll(fs, fd, path, text)
      } finally {
        fs.closeSync(fd)
      }
    }
    try {
      write()
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw toStorageError(error, path, 'writing')
      makeFolder(dirname(path), fs)
      write()
    }
  }

  return {
    append,
    writeWhole,
    writeDerived,
    read: readFrom,
    exists: (path) => nodeFs.existsSync(path),
    stat: (path) => {
      try {
        const stats = nodeFs.statSync(path, { throwIfNoEntry: false })
        if (stats === undefined) return undefined
        // Not its birth: where a file system keeps none, Node gives the time of the last change.
        const identity = `${stats.dev}:${stats.ino}`
        return { bytes: stats.size, modifiedAt: stats.mtimeMs, identity }
      } catch (error) {
        if (errnoOf(error) === 'ENOTDIR') return undefined
        throw toStorageError(error, path, 'looking at')
      }
    },
    list: async (folder) => {
      try {
        return nodeFs.readdirSync(folder).sort()
      } catch (error) {
        const errno = errnoOf(error)
        if (errno === 'ENOENT' || errno === 'ENOTDIR') return []
        throw toStorageError(error, folder, 'listing')
      }
    },
    release: files.release,
    lock: acquireSessionLock,
    close: async () => {
      closed = true
      await commit.idle()
      files.closeAll()
    },
  }
}

/** Several appends to one file become one write. */
function onePerFile(batch: readonly Append[]): readonly Append[] {
  const texts = new Map<string, string>()
  for (const { path, text } of batch) texts.set(path, (texts.get(path) ?? '') + text)
  return [...texts].map(([path, text]) => ({ path, text }))
}

async function* readFrom(path: string, offset = 0): AsyncGenerator<Uint8Array> {
  const handle = await open(path, 'r').catch((error: unknown) => {
    throw toStorageError(error, path, 'opening')
  })
  try {
    for (let position = offset; ; ) {
      // A fresh buffer each time: readers keep parts of it.
      const { bytesRead, buffer } = await handle
        .read(Buffer.allocUnsafeSlow(CHUNK_BYTES), 0, CHUNK_BYTES, position)
        .catch((error: unknown) => {
          throw toStorageError(error, path, 'reading')
        })
      if (bytesRead === 0) return
      position += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

/** A short write of a file that nobody refers to yet: the temporary file is thrown away. */
function writeAll(fs: FileCalls, fd: number, path: string, text: string): void {
  const bytes = Buffer.byteLength(text)
  const written = fs.writeSync(fd, text)
  if (written === bytes) return
  throw new StorageError(
    'short-write',
    path,
    `writing ${path} stopped after ${written} of ${bytes} bytes; is the disk full?`,
  )
}

async function finishDurably(
  fs: FileCalls,
  fd: number,
  temporary: string,
  path: string,
  folders: readonly string[],
): Promise<void> {
  try {
    try {
      await call((done) => fs.fdatasync(fd, done))
    } finally {
      fs.closeSync(fd)
    }
    fs.renameSync(temporary, path)
    for (const folder of folders) await syncFolder(fs, folder)
  } catch (error) {
    removeQuietly(fs, temporary)
    throw toStorageError(error, path, 'writing')
  }
}

/** The error that led here is the one to tell. */
function removeQuietly(fs: FileCalls, path: string): void {
  try {
    fs.unlinkSync(path)
  } catch {}
}
