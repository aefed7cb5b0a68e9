/**
 * Texts by the hash of their bytes: rendered prompts, tool arrays, large tool results. Written once, never changed.
 */
import { createHash } from 'node:crypto'
import type { BlobHash } from '../machines/ids.ts'
import type { SessionPaths } from './paths.ts'
import type { MaybePromise, Storage } from './storage.ts'
import { StorageError } from './storage.ts'

export interface BlobStore {
  /**
   * Stores a text and gives its name, from the SHA-256 of its UTF-8 bytes. Durable when this returns or resolves; storing the
   * same text again costs nothing. A lone surrogate has no UTF-8 form and comes back as U+FFFD.
   */
  put(text: string): MaybePromise<BlobHash>
  /** The text of a blob. Rejects with a `StorageError`: `not-found`, or `damaged` when its bytes are not those of its name. */
  get(hash: BlobHash): Promise<string>
}

/** Prompts and tool arrays are put again and again; hashing 50 KB takes longer than all else of a spawn's journal. */
const REMEMBERED_TEXTS = 64
const MAX_REMEMBERED_LENGTH = 256 * 1024

/** The blobs of one session. */
export function createBlobStore(storage: Storage, paths: Pick<SessionPaths, 'blob'>): BlobStore {
  /** Blobs that are durable, or will be when their promise resolves. */
  const stored = new Map<BlobHash, MaybePromise<void>>()
  const remembered = new Map<string, BlobHash>()

  const hashOf = (text: string): BlobHash => {
    const known = remembered.get(text)
    if (known !== undefined) return known
    const hash = nameOf(text)
    if (text.length <= MAX_REMEMBERED_LENGTH) {
      const oldest = remembered.keys().next()
      if (remembered.size >= REMEMBERED_TEXTS && oldest.done !== true) remembered.delete(oldest.value)
      remembered.set(text, hash)
    }
    return hash
  }

  /** Writes it unless a file of that name and size is there: a crash may have left an empty one. */
  const store = (hash: BlobHash, text: string): MaybePromise<void> => {
    const path = paths.blob(hash)
    const bytes = Buffer.byteLength(text)
    const stat = storage.stat(path)
    if (stat instanceof Promise) {
      return stat.then((found) => (found?.bytes === bytes ? undefined : storage.writeWhole(path, text)))
    }
    return stat?.bytes === bytes ? undefined : storage.writeWhole(path, text)
  }

  return {
    put: (text) => {
      const hash = hashOf(text)
      const writing = stored.has(hash) ? stored.get(hash) : store(hash, text)
      if (!(writing instanceof Promise)) {
        stored.set(hash, undefined)
        return hash
      }
      stored.set(hash, writing)
      return writing.then(
        () => hash,
        (error: unknown) => {
          // The next one who puts it tries again.
          stored.delete(hash)
          throw error
        },
      )
    },
    get: async (hash) => {
      const path = paths.blob(hash)
      const parts: Uint8Array[] = []
      for await (const part of storage.read(path)) parts.push(part)
      const bytes = Buffer.concat(parts)
      const found = sha256(bytes)
      if (found.startsWith(hash)) return bytes.toString('utf8')
      throw new StorageError(
        'damaged',
        path,
        `the blob ${path} is damaged: its bytes hash to ${found}. Without it the run cannot be resumed as it was; restore the file from a backup`,
      )
    },
  }
}

const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex')

// The beginning of a SHA-256 in hexadecimal is what the brand stands for.
const nameOf = (text: string): BlobHash => sha256(text).slice(0, 40) as BlobHash
