/**
 * Making appends durable together: one sync per file and round.
 *
 * A round begins as soon as something waits and no round is in flight; what arrives meanwhile waits for the next
 * one. So a lone append waits for one sync, and a thousand at once share theirs.
 *
 *   C1  Who joins is told after a sync that began after its write.
 *   C2  After a failed sync a file takes no more writes: the kernel may have dropped the pages and forgotten the
 *       error, so that a second sync would lie. What it had beyond its last durable length is cut off if possible.
 */
import type { AppendFile, AppendFiles, FileCalls } from './append-files.ts'
import type { StorageError } from './storage.ts'
import { poisonedError, toStorageError } from './storage-errors.ts'

export interface GroupCommit {
  /** Resolves when what was written to these files (now `dirty`) is durable. Rejects with a `StorageError`. */
  join(files: readonly AppendFile[]): Promise<void>
  /** Makes one file durable at once, blocking, because its handle has to go. A failure reaches who waits for it. */
  syncNow(file: AppendFile): void
  /** Resolves when nothing is in flight or waiting. */
  idle(): Promise<void>
}

interface Round {
  readonly files: Set<AppendFile>
  readonly failures: Map<AppendFile, StorageError>
  readonly done: Promise<void>
  readonly finish: () => void
}

export function createGroupCommit(fs: FileCalls, files: () => AppendFiles): GroupCommit {
  let waiting: Round | undefined
  let running: Promise<void> | undefined

  const fail = (round: Round | undefined, file: AppendFile, error: unknown): void => {
    const failure = toStorageError(error, file.path, 'syncing')
    files().poison(file.path, failure)
    files().cutBack(file, file.durable, false)
    round?.failures.set(file, failure)
  }

  const syncFile = async (round: Round, file: AppendFile): Promise<void> => {
    if (files().isPoisoned(file.path)) {
      // It failed while these bytes waited: they were cut off with the rest.
      round.failures.set(file, poisonedError(file.path, undefined))
      return
    }
    if (file.closed) return
    const { size } = file
    file.syncing = true
    file.dirty = false
    try {
      await call((done) => fs.fdatasync(file.fd, done))
      file.durable = size
    } catch (error) {
      fail(round, file, error)
    }
  }

  const syncFolders = async (round: Round): Promise<void> => {
    const created = [...round.files].filter((file) => file.foldersToSync.length > 0)
    const folders = new Set(created.flatMap((file) => file.foldersToSync))
    const failures = new Map<string, unknown>()
    await Promise.all(
      [...folders].map((folder) =>
        syncFolder(fs, folder).catch((error: unknown) => failures.set(folder, error)),
      ),
    )
    for (const file of created) {
      const failed = file.foldersToSync.find((folder) => failures.has(folder))
      if (failed === undefined) file.foldersToSync = []
      else fail(round, file, failures.get(failed))
    }
  }

  const runRounds = async (): Promise<void> => {
    // Appends of the same tick join the first round.
    await Promise.resolve()
    for (let round = waiting; round !== undefined; round = waiting) {
      waiting = undefined
      const current = round
      await Promise.all([...current.files].map((file) => syncFile(current, file)))
      await syncFolders(current)
      for (const file of current.files) {
        file.syncing = false
        files().closeIfReleased(file)
      }
      current.finish()
    }
    running = undefined
  }

  return {
    join: (touched) => {
      waiting ??= createRound()
      const round = waiting
      for (const file of touched) round.files.add(file)
      running ??= runRounds()
      return round.done.then(() => {
        const failed = touched.find((file) => round.failures.has(file))
        if (failed === undefined) return
        const failure = round.failures.get(failed)
        // What the other files of the batch got is durable and cannot be taken back: nothing may follow it.
        for (const file of touched) files().poison(file.path, failure)
        throw failure
      })
    },
    syncNow: (file) => {
      try {
        fs.fdatasyncSync(file.fd)
        file.durable = file.size
        file.dirty = false
        for (const folder of file.foldersToSync) syncFolderNow(fs, folder)
        file.foldersToSync = []
      } catch (error) {
        fail(waiting, file, error)
      }
    },
    idle: async () => {
      while (running !== undefined) await running
    },
  }
}

function createRound(): Round {
  let finish = (): void => {}
  const done = new Promise<void>((resolve) => {
    finish = resolve
  })
  return { files: new Set(), failures: new Map(), done, finish }
}

/** Makes the names in a folder durable. */
export async function syncFolder(fs: FileCalls, folder: string): Promise<void> {
  const fd = fs.openSync(folder, 'r')
  try {
    await call((done) => fs.fsync(fd, done))
  } finally {
    fs.closeSync(fd)
  }
}

function syncFolderNow(fs: FileCalls, folder: string): void {
  const fd = fs.openSync(folder, 'r')
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** A call of `node:fs` with a callback, as a promise. */
export function call(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => start((error) => (error === null ? resolve() : reject(error))))
}
