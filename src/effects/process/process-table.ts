/** What the kernel says of processes. On Linux read from `/proc`; elsewhere only start times, through `ps`. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { sep } from 'node:path'
import { attempt, textAt } from '../attempt.ts'

export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** Clock ticks since boot. */
  readonly startTime: string
  /** It has ended and waits to be reaped: it runs nothing and no signal reaches it. */
  readonly isDead: boolean
}

/** One process, or undefined when it is gone (or this is not Linux). */
export function readProcess(pid: number): ProcessEntry | undefined {
  const stat = textAt(`/proc/${pid}/stat`)
  return stat === undefined ? undefined : parseStat(stat)
}

/** Reads a line of `/proc/<pid>/stat`. The name in it may hold blanks and brackets: the last `)` ends it. */
export function parseStat(stat: string): ProcessEntry | undefined {
  const nameEnd = stat.lastIndexOf(')')
  const pid = Number.parseInt(stat, 10)
  // Field 3 of the manual page (the state) is the first after the name.
  const fields = stat.slice(nameEnd + 2).split(' ')
  const [state, parent, group] = fields
  const startTime = fields[19]
  if (nameEnd < 0 || Number.isNaN(pid) || startTime === undefined) return undefined
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    startTime,
    isDead: state === 'Z' || state === 'X' || state === 'x',
  }
}

/** All processes that can be seen; undefined where there is no `/proc` of Linux. */
export function readProcessTable(): readonly ProcessEntry[] | undefined {
  if (process.platform !== 'linux') return undefined
  return processIds().flatMap((pid) => readProcess(pid) ?? [])
}

/** Whether any process has its working directory in a folder. Known on Linux only; elsewhere nobody seems to. */
export function isWorkedIn(folder: string): boolean {
  const real = attempt(() => realpathSync(folder))
  if (real === undefined || process.platform !== 'linux') return false
  return processIds().some((pid) => {
    const cwd = attempt(() => readlinkSync(`/proc/${pid}/cwd`))
    return cwd !== undefined && (cwd === real || cwd.startsWith(real + sep))
  })
}

const processIds = (): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)

/** A value of the environment that a process was started with. Linux only, own processes only. */
export function startedWith(pid: number, variable: string): string | undefined {
  const prefix = `${variable}=`
  return textAt(`/proc/${pid}/environ`)
    ?.split('\0')
    .find((entry) => entry.startsWith(prefix))
    ?.slice(prefix.length)
}

/**
 * When a process was started, in the system's own words: good for comparing, nothing else. Undefined when it is
 * gone. Elsewhere than on Linux it costs a run of `ps` and is exact to the second.
 */
export function startTimeOf(pid: number): string | undefined {
  return process.platform === 'linux' ? readProcess(pid)?.startTime : startTimeFromPs(pid)
}

/** The start time as `ps` gives it, in a fixed language and time zone. */
export function startTimeFromPs(pid: number): string | undefined {
  const options = {
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'ignore'] as ['ignore', 'pipe', 'ignore'],
  }
  const started = attempt(() => execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], options))
  return started?.toString().trim() || undefined
}
