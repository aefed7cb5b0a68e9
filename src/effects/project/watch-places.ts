/**
 * Notices changes of files in a few folders, which need not exist yet.
 *
 * N1 Looks at nothing but the named folders and the way to them: what else lies beside them (sessions, worktrees,
 *    a whole home folder) costs nothing.
 * N2 Bounded: at most {@link MOST_WATCHED} files and folders, so that no repository uses up what the system has for
 *    all programs. What is beyond is told, once.
 * N3 Many changes at once are one; they are told when it has been quiet for {@link QUIET_MS}.
 * N4 Keeps no process alive, and leaves nothing behind when it is closed.
 */
import { type Stats, statSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { watch } from 'chokidar'
import { printable } from '../../definitions/context/text.ts'
import { messageOf } from '../../definitions/message-of.ts'
import type { CancelTimer, Clock } from '../clock.ts'
import { isInside } from '../tools/confinement.ts'
import { AGENT_PLACE_LIMITS } from './walk-agent-files.ts'
import type { WatchTarget } from './watch-targets.ts'

export const MOST_WATCHED = 5_000
export const QUIET_MS = 200

export interface WatchOptions {
  readonly targets: readonly WatchTarget[]
  readonly clock: Clock
  /** Something may have changed. Also called once when the watch begins to hold: until then things are missed. */
  readonly onChange: () => void
  /** Changes will not all be noticed. At most once. */
  readonly onIncomplete: (reason: string) => void
}

/** Starts watching. */
export function watchPlaces({ targets, clock, onChange, onIncomplete }: WatchOptions): {
  close(): Promise<void>
} {
  const anchors = [...new Set(targets.map(({ anchor }) => anchor))].filter(isFolder)
  const admitted = new Set<string>()
  let isIncomplete = false
  let cancel: CancelTimer = () => {}

  const incomplete = (reason: string): void => {
    if (isIncomplete) return
    isIncomplete = true
    onIncomplete(reason)
  }
  const ignored = (path: string, stats?: Stats): boolean => {
    if (anchors.includes(path)) return false
    if (!targets.some((target) => concerns(target, path, stats))) return true
    if (!admitted.has(path) && admitted.size >= MOST_WATCHED) {
      incomplete(`more than ${MOST_WATCHED} files and folders would have to be watched`)
      return true
    }
    admitted.add(path)
    return false
  }
  const later = (): void => {
    cancel()
    cancel = clock.setTimer(QUIET_MS, onChange)
  }

  const watcher = watch(anchors, {
    ignored,
    ignoreInitial: true,
    followSymlinks: false,
    ignorePermissionErrors: true,
    // Only what keeps the process alive is told of errors of the system's own watchers, and on Windows the removal
    // of a watched folder is one: there the watch must be closed for the process to end.
    persistent: process.platform === 'win32',
  })
  watcher.on('all', later)
  watcher.on('ready', later)
  watcher.on('error', (error) => incomplete(printable(messageOf(error))))
  return {
    async close() {
      cancel()
      await watcher.close()
      cancel()
    },
  }
}

/** Is it the target, on the way to it, or one of its files? */
function concerns(
  { kind, path: target, anchor }: WatchTarget,
  path: string,
  stats: Stats | undefined,
): boolean {
  if (!isInside(target, path)) return isInside(anchor, path) && isInside(path, target)
  const parts = path === target ? [] : relative(target, path).split(sep)
  if (kind === 'skills') return parts.length < 2 || (parts.length === 2 && parts[1] === 'SKILL.md')
  if (parts.length > AGENT_PLACE_LIMITS.depth + 1) return false
  if (parts.some((part) => part.startsWith('.') || part === 'node_modules')) return false
  return stats === undefined || !stats.isFile() || /\.(?:md|json)$/i.test(path)
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
