/**
 * Telling one process from another, across restarts of the process and of the machine. A pid alone does not: it is
 * used again.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import * as z from 'zod'

/** A process, on its machine. What an operating system does not tell is absent. */
export const ProcessIdentity = z.looseObject({
  host: z.string(),
  pid: z.number().int().positive(),
  /** Changes at each start of the machine. Linux. */
  bootId: z.string().optional(),
  /** The process's start, in clock ticks since the machine's. Linux. */
  startTime: z.string().optional(),
  /** Two containers may have one host name and one boot, and see different processes under one pid. Linux. */
  pidNamespace: z.string().optional(),
})
export type ProcessIdentity = z.infer<typeof ProcessIdentity>

/** `alive`, `dead`, or `elsewhere`: on a machine or in a container whose processes cannot be seen from here. */
export type Whereabouts = 'alive' | 'dead' | 'elsewhere'

/** This process. */
export function thisProcess(): ProcessIdentity {
  const { pid } = process
  const bootId = attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
  const startTime = processState(pid)?.startTime
  const pidNamespace = attempt(() => readlinkSync('/proc/self/ns/pid'))
  return {
    host: hostname(),
    pid,
    ...(bootId !== undefined && { bootId }),
    ...(startTime !== undefined && { startTime }),
    ...(pidNamespace !== undefined && { pidNamespace }),
  }
}

/** Whether a process is still there, as far as `self` can see. */
export function whereaboutsOf(other: ProcessIdentity, self: ProcessIdentity): Whereabouts {
  if (other.host !== self.host) return 'elsewhere'
  if (differ(other.bootId, self.bootId)) return 'dead'
  if (differ(other.pidNamespace, self.pidNamespace)) return 'elsewhere'
  if (!exists(other.pid)) return 'dead'
  const state = processState(other.pid)
  if (state === undefined) return 'alive'
  // A zombie holds nothing any more, it only waits for its parent to look.
  if (state.letter === 'Z' || state.letter === 'X') return 'dead'
  return differ(other.startTime, state.startTime) ? 'dead' : 'alive'
}

const differ = (a: string | undefined, b: string | undefined): boolean =>
  a !== undefined && b !== undefined && a !== b

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Somebody else's process is a process too.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Fields 3 and 22 of `/proc/<pid>/stat`. The name before them may contain anything, even `)`. */
function processState(pid: number): { readonly letter: string; readonly startTime: string } | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  const letter = fields?.[0]
  const startTime = fields?.[19]
  return letter === undefined || startTime === undefined ? undefined : { letter, startTime }
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
