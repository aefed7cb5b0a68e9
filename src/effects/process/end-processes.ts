/** TERM, grace, KILL, and the wait until nothing is left: the one way in which processes are ended here. */
import type { Clock } from '../clock.ts'
import { pause } from './pause.ts'
import { readProcessTable } from './process-table.ts'

/** What a signal is sent to: a process id, or a negated group id. */
export type Target = number

export interface Patience {
  readonly clock: Clock
  /** Milliseconds between TERM and KILL. */
  readonly graceMs: number
}

const LONGEST_PAUSE_MS = 50

/**
 * Ends what `living` names, asking it anew until it names nothing: TERM at first sight, KILL for whatever is
 * left or turns up after the grace period. Resolves with the number of targets there were.
 *
 * It waits as long as the kernel takes: a process that hangs in a device outlives even KILL, and saying that it
 * is gone would be a lie.
 */
export async function endProcesses(living: () => readonly Target[], patience: Patience): Promise<number> {
  const seen = new Set<Target>()
  let graceIsOver = false
  let cancelGrace: (() => void) | undefined
  for (let wait = 1; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    const targets = living()
    if (targets.length === 0) break
    for (const target of targets) {
      if (graceIsOver) send(target, 'SIGKILL')
      else if (!seen.has(target)) send(target, 'SIGTERM')
      seen.add(target)
    }
    cancelGrace ??= patience.clock.setTimer(patience.graceMs, () => {
      graceIsOver = true
    })
    await pause(wait)
  }
  cancelGrace?.()
  return seen.size
}

/**
 * Whether a process of the group runs. On Linux those that only wait to be reaped do not count: where the first
 * process of a container reaps nobody, they stay for ever. A group of other users' processes only counts as
 * gone, since nothing can be done about it.
 */
export function groupIsAlive(group: number): boolean {
  if (!send(-group, 0)) return false
  const table = readProcessTable()
  return table === undefined || table.some((entry) => entry.group === group && !entry.isDead)
}

/** True when the signal was delivered to somebody. */
function send(target: Target, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal)
  } catch {
    return false
  }
}
