/**
 * Processes in a table of processes of their own, as the sandbox of the system makes them, seen from outside. On Linux;
 * elsewhere a sandbox makes none.
 *
 * Such a command cannot be told to end through its group. The group holds only the process that holds the table, and with
 * its end the kernel kills all that is in it, at once: nothing inside would hear of TERM.
 */

import { textAt } from '../attempt.ts'
import { pause } from './pause.ts'
import { type ProcessEntry, readProcessTable, startedWith } from './process-table.ts'

/** What everything of one boxed command is started with. */
export const BOX_VARIABLE = 'TROUPE_BOX'

/**
 * The processes below a group that are deepest in tables of their own: what the command itself has started, without what
 * holds the tables. Empty for a command that has none.
 */
export function boxedBelow(group: number, table: readonly ProcessEntry[]): readonly number[] {
  const own = depthOf(process.pid)
  const below = descendantsOf(group, table).map((pid) => ({ pid, ids: idsOf(pid) }))
  const deepest = Math.max(own, ...below.map(({ ids }) => ids.length))
  if (deepest === own) return []
  // The first process of a table hears nothing but KILL from outside.
  return below.filter(({ ids }) => ids.length === deepest && ids.at(-1) !== '1').map(({ pid }) => pid)
}

/**
 * Resolves when nothing runs any more that was started with this box. Whoever holds the table has ended: the kernel is
 * taking down the rest, which takes it a moment.
 */
export async function awaitGone(box: string): Promise<void> {
  for (let wait = 1; isThere(box); wait = Math.min(wait * 2, 50)) await pause(wait)
}

const isThere = (box: string): boolean =>
  (readProcessTable() ?? []).some(({ pid, isDead }) => !isDead && startedWith(pid, BOX_VARIABLE) === box)

function descendantsOf(group: number, table: readonly ProcessEntry[]): readonly number[] {
  const found = new Set<number>()
  let size = -1
  const members = new Set(table.filter((entry) => entry.group === group).map(({ pid }) => pid))
  while (found.size > size) {
    size = found.size
    for (const { pid, parent, isDead } of table)
      if (!isDead && !members.has(pid) && (members.has(parent) || found.has(parent))) found.add(pid)
  }
  return [...found]
}

const depthOf = (pid: number): number => idsOf(pid).length

/** The ids of a process, in the table of this process first, then in those that it is in within. */
function idsOf(pid: number): readonly string[] {
  const line = textAt(`/proc/${pid}/status`)?.match(/^NSpid:\s*(.+)$/mu)?.[1]
  return line?.split(/\s+/u) ?? []
}
