/**
 * The storage port in memory, for tests and for hosts that want no files. It behaves as the one on the file system
 * does, failures included, and lets a test decide when they come.
 */

import { dirname } from 'node:path'
import type { LockOwner } from './session-lock.ts'
import { SessionLockedError } from './session-lock.ts'
import type { Append, Durability, MaybePromise, Storage, StorageErrorCode } from './storage.ts'
import { StorageError } from './storage.ts'
import { poisonedError } from './storage-errors.ts'

export interface MemoryStorageOptions {
  /** Default `write`. With `fsync` appends are durable some microtasks later, as a promise. */
  readonly durability?: Durability
  /** Files to begin with: path to content. */
  readonly files?: ReadonlyMap<string, string | Uint8Array>
  /** Milliseconds since the epoch, for the time of the last change. Default: one more at each change. */
  readonly now?: () => number
}

export interface MemoryStorage extends Storage {
  /** What a reader would see now: path to text. */
  readonly files: ReadonlyMap<string, string>
  /** The bytes of a file; empty when there is none. */
  bytes(path: string): Uint8Array
  /** The next append fails with this code (`full`, `denied`, …) and changes nothing. */
  failNextAppend(code: StorageErrorCode): void
  /** The next sync fails (`fsync` only): its files are cut back and take no more writes. */
  failNextSync(): void
  /** The process dies in the next append, when this many bytes of its first file are written: see {@link crash}. */
  tearNextAppend(bytes: number): void
  /** Holds back all syncs until the function that it returns is called. */
  holdSyncs(): () => void
  /**
   * The process dies. Bytes that are not synced are lost (`fsync` only). This storage is dead from now on: appends
   * in flight never settle, all other calls throw; so an engine that the test left behind can do no more harm. The
   * storage that comes back is that of the next process.
   */
  crash(): MemoryStorage
}

interface MemoryFile {
  /** Joined only when somebody looks: an append costs the same whatever the file's length. */
  parts: Buffer[]
  size: number
  durable: number
  modifiedAt: number
  poisoned: boolean
}

/** Makes a storage that is gone with the process. */
export function createMemoryStorage(options: MemoryStorageOptions = {}): MemoryStorage {
  const { durability = 'write' } = options
  let changes = 0
  const now = options.now ?? (() => changes)
  const disk = new Map<string, MemoryFile>()
  /** Locks are the process's: a crash leaves none that anybody would have to respect. */
  const locks = new Map<string, LockOwner>()
  const folders = new Set<string>()
  let failCode: StorageErrorCode | undefined
  let failSync = false
  let tearAt: number | undefined
  let tornPath: string | undefined
  let isDead = false
  let isClosed = false
  let syncsHeld: Promise<void> | undefined

  const put = (path: string, bytes: Buffer, durable: number, modifiedAt: number): MemoryFile => {
    const file = { parts: [bytes], size: bytes.length, durable, modifiedAt, poisoned: false }
    disk.set(path, file)
    for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder)
    return file
  }

  for (const [path, content] of options.files ?? []) {
    const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content)
    put(path, bytes, bytes.length, 0)
  }

  const checkAlive = (path: string): void => {
    if (isDead) throw new StorageError('crashed', path, `the process of this storage has died (${path})`)
  }

  const write = (path: string, added: Buffer): void => {
    changes += 1
    const file = disk.get(path) ?? put(path, Buffer.alloc(0), 0, 0)
    file.parts.push(added)
    file.size += added.length
    file.modifiedAt = now()
    if (durability === 'write') file.durable = file.size
  }

  const sync = async (paths: readonly string[]): Promise<void> => {
    // What was written before the sync begins is what it makes durable.
    const lengths = paths.map((path) => disk.get(path)?.size ?? 0)
    await Promise.resolve()
    while (syncsHeld !== undefined) await syncsHeld
    if (isDead) return new Promise(() => {})
    const failing = failSync
    failSync = false
    for (const [i, path] of paths.entries()) {
      const file = disk.get(path)
      if (file === undefined) continue
      if (file.poisoned) throw poisonedError(path, undefined)
      if (failing) {
        file.parts = [joined(file).subarray(0, file.durable)]
        file.size = file.durable
        file.poisoned = true
      } else file.durable = Math.max(file.durable, lengths[i] ?? 0)
    }
    if (failing) throw new StorageError('io', paths[0] ?? '', 'the sync failed, as the test asked')
  }

  const append = (batch: readonly Append[]): MaybePromise<void> => {
    const first = batch[0]
    if (first === undefined) return
    checkAlive(first.path)
    if (isClosed) throw new StorageError('closed', first.path, 'the storage is closed: nothing was appended')
    for (const { path } of batch) {
      if (disk.get(path)?.poisoned === true) throw poisonedError(path, undefined)
      if (folders.has(path)) throw new StorageError('is-a-directory', path, `${path} is a folder`)
    }
    if (failCode !== undefined) {
      const code = failCode
      failCode = undefined
      throw new StorageError(
        code,
        first.path,
        `appending to ${first.path} failed with ${code}, as the test asked`,
      )
    }
    for (const { path, text } of batch) {
      const bytes = Buffer.from(endsTorn(disk.get(path)) ? `\n${text}` : text)
      if (tearAt !== undefined) {
        write(path, bytes.subarray(0, tearAt))
        tornPath = path
        isDead = true
        checkAlive(path)
      }
      write(path, bytes)
    }
    if (durability === 'fsync') return sync([...new Set(batch.map(({ path }) => path))])
  }

  return {
    append,
    read: async function* (path, offset = 0) {
      checkAlive(path)
      const file = disk.get(path)
      if (file === undefined) throw new StorageError('not-found', path, `there is no file ${path}`)
      if (offset < file.size) yield Uint8Array.from(joined(file).subarray(offset))
    },
    writeWhole: (path, text) => {
      checkAlive(path)
      changes += 1
      const bytes = Buffer.from(text)
      put(path, bytes, bytes.length, now())
    },
    writeDerived: (path, text) => {
      checkAlive(path)
      changes += 1
      const bytes = Buffer.from(text)
      put(path, bytes, bytes.length, now())
    },
    exists: (path) => {
      checkAlive(path)
      return disk.has(path) || folders.has(path)
    },
    stat: (path) => {
      checkAlive(path)
      const file = disk.get(path)
      return file === undefined ? undefined : { bytes: file.size, modifiedAt: file.modifiedAt }
    },
    list: async (folder) => {
      checkAlive(folder)
      const inside = [...disk.keys()].filter((path) => path.startsWith(`${folder}/`))
      return [...new Set(inside.map((path) => path.slice(folder.length + 1).split('/')[0] ?? ''))].sort()
    },
    lock: (path, info) => {
      checkAlive(path)
      const held = locks.get(path)
      if (held !== undefined) {
        throw new SessionLockedError(path, held, `${path} is held by engine ${held.engine} of this process`)
      }
      const owner: LockOwner = {
        host: 'memory',
        pid: 1,
        engine: info.engine,
        startedAt: new Date(info.startedAt).toISOString(),
      }
      locks.set(path, owner)
      return { owner, release: () => void (locks.get(path) === owner && locks.delete(path)) }
    },
    release: () => {},
    close: async () => {
      isClosed = true
    },
    get files() {
      return new Map([...disk].map(([path, file]) => [path, joined(file).toString('utf8')]))
    },
    bytes: (path) => {
      const file = disk.get(path)
      return file === undefined ? new Uint8Array() : Uint8Array.from(joined(file))
    },
    failNextAppend: (code) => {
      failCode = code
    },
    failNextSync: () => {
      failSync = true
    },
    tearNextAppend: (bytes) => {
      tearAt = bytes
    },
    holdSyncs: () => {
      let letGo = (): void => {}
      const held = new Promise<void>((resolve) => {
        letGo = resolve
      })
      syncsHeld = held
      return () => {
        if (syncsHeld === held) syncsHeld = undefined
        letGo()
      }
    },
    crash: () => {
      isDead = true
      const survived = new Map<string, Uint8Array>()
      for (const [path, file] of disk) {
        // What a torn append has written is on the disk, whatever was promised.
        const bytes = path === tornPath ? joined(file) : joined(file).subarray(0, file.durable)
        if (bytes.length > 0 || file.size === 0) survived.set(path, bytes)
      }
      return createMemoryStorage({ ...options, files: survived })
    },
  }
}

function joined(file: MemoryFile): Buffer {
  const whole = file.parts.length === 1 ? file.parts[0] : undefined
  if (whole !== undefined) return whole
  const bytes = Buffer.concat(file.parts)
  file.parts = [bytes]
  return bytes
}

/** Does it lack its last line feed? */
const endsTorn = (file: MemoryFile | undefined): boolean =>
  file !== undefined && file.size > 0 && file.parts.findLast((part) => part.length > 0)?.at(-1) !== 0x0a
