/**
 * A folder that stays the one that was judged, whatever happens to its path meanwhile.
 *
 * H1 It is opened without following a link in its last part, and where it lies is compared with the path afterwards:
 *    a link further up is found out by that.
 * H2 On Linux everything in it is then reached by way of the open folder (`/proc/self/fd`), so no later change of the
 *    path leads anywhere else. Other systems have no such way from Node: there the path is used, and a change between
 *    the comparison and the use is not found out.
 * H3 Missing folders are made one by one, each in the one that is held already. A path that is swapped for a link in
 *    between gets no folder at its other end.
 */
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { systemCode } from './refusals.ts'
import { ToolRefusal } from './tool-refusal.ts'

/** An open folder. */
export interface HeldFolder {
  /** A path to the folder, for this process and for the working directory of one that it starts. */
  readonly path: string
  /** A path to what has this name in it. */
  at(name: string): string
  /** Resolves when names that were added or changed are on disk. */
  sync(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a folder by its resolved path. `create`: makes it, and the folders above it, where it is missing.
 *
 * @throws ToolRefusal when it leads elsewhere than its path says.
 */
export async function holdFolder(
  real: string,
  { create = false }: { readonly create?: boolean } = {},
): Promise<HeldFolder> {
  const missing: string[] = []
  let path = real
  let handle = await openFolder(path, create)
  while (handle === undefined) {
    missing.unshift(basename(path))
    path = dirname(path)
    handle = await openFolder(path, true)
  }
  try {
    await verify(handle, path)
    for (const name of missing) {
      const inner = await makeIn(handle, path, name)
      await handle.close()
      handle = inner
      path = join(path, name)
      await verify(handle, path)
    }
  } catch (error) {
    await handle.close()
    throw error
  }
  return heldBy(handle, path)
}

/** Whether an open file or folder is what lies at its resolved path, with no link on the way. */
export async function isStillAt(handle: FileHandle, real: string): Promise<boolean> {
  if (process.platform === 'linux') return (await readlink(`/proc/self/fd/${handle.fd}`)) === real
  if ((await realpath(real)) !== real) return false
  const [held, found] = await Promise.all([handle.stat(), stat(real)])
  return held.dev === found.dev && held.ino === found.ino
}

const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

async function openFolder(path: string, mayBeMissing: boolean): Promise<FileHandle | undefined> {
  try {
    return await open(path, FOLDER_FLAGS)
  } catch (error) {
    if (mayBeMissing && systemCode(error) === 'ENOENT' && dirname(path) !== path) return undefined
    throw error
  }
}

async function verify(handle: FileHandle, path: string): Promise<void> {
  if (await isStillAt(handle, path)) return
  throw new ToolRefusal(`${path} leads elsewhere than a moment ago. Nothing was done.`)
}

async function makeIn(handle: FileHandle, path: string, name: string): Promise<FileHandle> {
  const inner = join(pathOf(handle, path), name)
  await mkdir(inner).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw error
  })
  await handle.sync()
  return open(inner, FOLDER_FLAGS)
}

const pathOf = (handle: FileHandle, path: string): string =>
  process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path

function heldBy(handle: FileHandle, real: string): HeldFolder {
  const path = pathOf(handle, real)
  return {
    path,
    at: (name) => join(path, name),
    sync: () => handle.sync(),
    close: () => handle.close(),
  }
}
