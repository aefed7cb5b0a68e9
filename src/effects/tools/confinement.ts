/**
 * Where a path really leads, and whether a tool may go there.
 *
 * C1 A path is judged by where it leads with every symbolic link resolved. What does not exist is judged by its
 *    nearest existing parent.
 * C2 Only the resolved path is opened, and opening follows no link (`file-access.ts`), so that a link that is put
 *    in place after the judgement is refused, not followed.
 * C3 A path that leads elsewhere than when permission was given for it is refused (`ToolContext.judged`).
 * C4 Nothing under `/proc`, `/sys` and `/dev` is touched, by whatever name: reading there has effects, shows
 *    secrets (`/proc/self/environ`) or never ends.
 */
import { lstat, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { systemCode } from './refusals.ts'
import type { ToolContext } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'

/** A path after {@link placePath}. */
export interface Place {
  /** Absolute, `..` folded, links as they were named. For messages and transcripts. */
  readonly named: string
  /** Absolute, all links resolved. The only one of the two to open. */
  readonly real: string
  readonly kind: 'file' | 'folder' | 'missing'
}

/** Resolves a path against a working directory. Throws a {@link ToolRefusal} for what no file tool touches. */
export async function placePath(path: string, cwd: string): Promise<Place> {
  if (path === '') throw new ToolRefusal('The path is empty. Give the path of a file.')
  if (path.includes('\0')) throw new ToolRefusal('The path holds a NUL character. Give a plain path.')
  const named = resolve(cwd, withHome(path))
  refuseKernelPath(named, path)
  const { real, exists } = await realPathOf(named)
  refuseKernelPath(real, path)
  if (!exists) return { named, real, kind: 'missing' }
  const stats = await stat(real)
  if (stats.isDirectory()) return { named, real, kind: 'folder' }
  if (stats.isFile()) return { named, real, kind: 'file' }
  throw new ToolRefusal(`${named} is a device, a pipe or a socket. File tools work on plain files only.`)
}

/** As {@link placePath}, for the path that permission was asked for: refuses one that leads elsewhere by now (C3). */
export async function placeJudged(path: string, { cwd, judged }: ToolContext): Promise<Place> {
  const place = await placePath(path, cwd)
  if (judged === undefined || place.real === judged) return place
  throw new ToolRefusal(
    `${place.named} led to ${judged} when this call was permitted, and leads to ${place.real} now. Nothing was done. If that is meant, make the call again.`,
  )
}

/** As {@link placeJudged}, and refuses what lies outside the folders that this call may write in. */
export async function placeForWriting(path: string, context: ToolContext): Promise<Place> {
  const place = await placeJudged(path, context)
  const roots = [context.cwd, ...(context.writableRoots ?? [])]
  if (roots.some((root) => isInside(root, place.real))) return place
  const target = place.real === place.named ? '' : ` (it leads to ${place.real})`
  throw new ToolRefusal(
    `${place.named}${target} is outside ${roots.join(', ')}, where this agent may write. Choose a path inside.`,
  )
}

/** Whether `path` is `root` or lies under it. Both absolute and resolved. */
export function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

/** A path relative to the working directory where it lies inside, else absolute. To show it, see `printable`. */
export function shownPath(path: string, cwd: string): string {
  return isInside(cwd, path) ? relative(cwd, path) || '.' : path
}

/** The path with a leading `~` replaced by the home folder. */
export function withHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path
}

function refuseKernelPath(path: string, asked: string): void {
  const isSharedMemory = isInside('/dev/shm', path)
  if (isSharedMemory || !['/proc', '/sys', '/dev'].some((root) => isInside(root, path))) return
  throw new ToolRefusal(
    `${asked} leads to ${path}, which belongs to the kernel. File tools do not go there; use Bash if it is needed.`,
  )
}

async function realPathOf(named: string): Promise<{ readonly real: string; readonly exists: boolean }> {
  const missing: string[] = []
  for (let path = named; ; path = dirname(path)) {
    const real = await realpathIfThere(path)
    if (real !== undefined) return { real: join(real, ...missing), exists: missing.length === 0 }
    missing.unshift(basename(path))
  }
}

async function realpathIfThere(path: string): Promise<string | undefined> {
  try {
    return await realpath(path)
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ELOOP') throw new ToolRefusal(`${path} is a symbolic link that leads back to itself.`)
    if (code === 'ENOTDIR') throw new ToolRefusal(`${dirname(path)} is a file, so ${path} cannot exist.`)
    if (code !== 'ENOENT') throw error
    // Writing "to" a dangling link would create a file at a place that nobody has judged.
    const isLink = await lstat(path).then(
      (stats) => stats.isSymbolicLink(),
      () => false,
    )
    if (isLink) throw new ToolRefusal(`${path} is a symbolic link that leads to nothing.`)
    return undefined
  }
}

/** True for a path that is absolute once `~` is replaced. */
export const isAbsolutePath = (path: string): boolean => isAbsolute(withHome(path))
