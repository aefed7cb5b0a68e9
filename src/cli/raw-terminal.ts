/** A terminal whose keys come through one by one, as long as this process has it. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { ReadStream } from 'node:tty'

/** Sets a terminal raw, or back. Returns whether it is raw now: never in the background, where that would stop the process. */
export function setRawMode(
  stdin: Pick<ReadStream, 'setRawMode'>,
  isRaw: boolean,
  hasTerminal = isInForeground,
): boolean {
  try {
    if (!hasTerminal()) return false
    stdin.setRawMode(isRaw)
    return isRaw
  } catch {
    // It went away.
    return false
  }
}

/** Whether the process is of the group that its terminal listens to. */
function isInForeground(): boolean {
  if (process.platform === 'win32') return true
  const [group, ofTerminal] = process.platform === 'linux' ? groupsOfLinux() : groupsOfPs()
  return group !== undefined && group === ofTerminal
}

function groupsOfLinux(): readonly (string | undefined)[] {
  return groupsInStat(readFileSync('/proc/self/stat', 'utf8'))
}

/** Process group, and foreground group of the terminal. The name, in brackets, may hold anything. */
export function groupsInStat(stat: string): readonly (string | undefined)[] {
  const [, , group, , , ofTerminal] = stat
    .slice(stat.lastIndexOf(')') + 1)
    .trim()
    .split(' ')
  return [group, ofTerminal]
}

function groupsOfPs(): readonly (string | undefined)[] {
  const { stdout } = spawnSync('ps', ['-o', 'pgid=,tpgid=', '-p', String(process.pid)], { encoding: 'utf8' })
  return stdout.trim().split(/\s+/)
}
