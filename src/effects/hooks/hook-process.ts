/**
 * Runs a command with standard input and with its two outputs apart, in a process group of its own.
 *
 * Owns: the group of each command, from its start until nothing of it is left. Does not own: processes that leave the
 * group (`setsid`); those carry the mark and are found by `endSurvivors`.
 *
 * H1 The command has a session and a group of its own, its mark, and of the environment only what it is given.
 * H2 Its input is whole before it starts; whether it reads it is its own affair.
 * H3 `run` settles only when nothing of the group runs any more: timeout and abort send TERM, wait a grace period,
 *    send KILL. What outlives the shell has `LINGER_MS` and is ended then; the outcome is still the shell's exit.
 * H4 Output is bounded while it is read.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Clock, systemClock } from '../clock.ts'
import { createCappedOutput } from '../process/capped-output.ts'
import { endProcesses, groupIsAlive } from '../process/end-processes.ts'
import { MARK_VARIABLE } from '../process/end-survivors.ts'
import { type OutputPipe, openOutputPipe } from '../process/output-pipe.ts'
import { pause } from '../process/pause.ts'
import { startTimeOf } from '../process/process-table.ts'
import { openInputFile } from './input-file.ts'

/** A command to run. */
export interface HookProcessRequest {
  /** For the shell. */
  readonly command: string
  readonly cwd: string
  /** The whole environment, but for the mark. */
  readonly env: Readonly<Record<string, string>>
  /** `<agent>/<effect>`, in `TROUPE_CALL`. */
  readonly mark: string
  /** Standard input. */
  readonly input: string
  /** Milliseconds until the group is ended. */
  readonly timeoutMs: number
  /** Bytes kept of each output, head and tail. */
  readonly maxOutputBytes: number
  readonly signal: AbortSignal
  /** Called once, as soon as the process exists. What it throws ends the group and rejects the run. */
  readonly onStarted?: (process: HookProcessIdentity) => void
}

/** A process, so that a later program can tell whether it is still the same one. */
export interface HookProcessIdentity {
  /** Also the id of its group. */
  readonly pid: number
  readonly startTime: string | undefined
}

/** How a command ended. */
export interface HookProcessOutcome {
  readonly ended: 'exit' | 'timeout' | 'aborted'
  /** Null when a signal ended it. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  /** Not all of standard output is there. */
  readonly isCut: boolean
}

/** Processes of hooks, as a port. */
export interface HookProcesses {
  /** Runs a command to its end, see H3. Rejects when it cannot be started. */
  run(request: HookProcessRequest): Promise<HookProcessOutcome>
}

/** Options of {@link createLocalHookProcesses}. */
export interface LocalHookProcessesOptions {
  /** For timeouts and grace periods. Default: the system's. */
  readonly clock?: Clock
  /** Milliseconds between TERM and KILL. Default 2,000. */
  readonly graceMs?: number
}

/** Milliseconds that the rest of a group has after its shell has ended. */
const LINGER_MS = 200
/** Milliseconds to read the rest of the output when the group is gone and somebody outside holds the pipe. */
const DRAIN_MS = 200

/** Real processes. Needs a POSIX system; `/bin/bash` where there is one, else `sh`. */
export function createLocalHookProcesses(options: LocalHookProcessesOptions = {}): HookProcesses {
  const { clock = systemClock, graceMs = 2_000 } = options
  const shell = existsSync('/bin/bash') ? '/bin/bash' : 'sh'
  return { run: (request) => runCommand(request, shell, { clock, graceMs }) }
}

/** A shell that runs. */
interface Started {
  readonly group: number
  /** Its exit code, null when a signal ended it. Listened for from the start: some are gone in no time. */
  readonly exit: Promise<number | null>
}

async function runCommand(
  request: HookProcessRequest,
  shell: string,
  patience: { readonly clock: Clock; readonly graceMs: number },
): Promise<HookProcessOutcome> {
  const [stdout, stderr] = [request.maxOutputBytes, request.maxOutputBytes].map(createCappedOutput)
  if (stdout === undefined || stderr === undefined) throw new Error('two outputs were made')
  const pipes: OutputPipe[] = []
  const drain = async (ms: number): Promise<void> => {
    await Promise.all(pipes.map((pipe) => pipe.drain(ms)))
  }
  const outcome = (ended: HookProcessOutcome['ended'], exitCode: number | null): HookProcessOutcome => {
    const out = stdout.text()
    return { ended, exitCode, stdout: out.text, stderr: stderr.text().text, isCut: out.omittedBytes > 0 }
  }
  try {
    pipes.push(await openOutputPipe(stdout.push))
    pipes.push(await openOutputPipe(stderr.push))
    if (request.signal.aborted) return outcome('aborted', null)
    const { group, exit } = await startShell(request, shell, pipes)
    try {
      request.onStarted?.({ pid: group, startTime: startTimeOf(group) })
      const ended = await firstOf(exit, request, patience.clock)
      if (ended === 'exit') await linger(group)
      await endProcesses(() => (groupIsAlive(group) ? [-group] : []), patience)
      const exitCode = await exit
      await drain(DRAIN_MS)
      return outcome(ended, exitCode)
    } finally {
      // Nothing is left to end unless something threw: a process that nobody could record must not run on.
      await endProcesses(() => (groupIsAlive(group) ? [-group] : []), patience)
    }
  } finally {
    await drain(0)
  }
}

async function startShell(
  request: HookProcessRequest,
  shell: string,
  pipes: readonly OutputPipe[],
): Promise<Started> {
  const input = await openInputFile(request.input)
  try {
    const child = spawn(shell, ['-c', request.command], {
      cwd: request.cwd,
      env: { ...request.env, [MARK_VARIABLE]: request.mark },
      detached: true,
      stdio: [input.fd, ...pipes.map(({ writingEnd }) => writingEnd)],
    })
    for (const pipe of pipes) pipe.handedOver()
    // Without a pid the reason comes as an event, in a moment. With one there is no failure to wait for.
    if (child.pid === undefined) throw await new Promise((resolve) => child.once('error', resolve))
    return { group: child.pid, exit: new Promise((resolve) => child.once('exit', resolve)) }
  } catch (cause) {
    const reason = existsSync(request.cwd)
      ? String(cause instanceof Error ? cause.message : cause)
      : `the working directory ${request.cwd} does not exist`
    throw new Error(`${shell} could not be started for ${request.mark}: ${reason}`, { cause })
  } finally {
    await input.close()
  }
}

/** What comes first: the shell's own end, the time limit, or the abort. */
function firstOf(
  exit: Promise<number | null>,
  { signal, timeoutMs }: HookProcessRequest,
  clock: Clock,
): Promise<HookProcessOutcome['ended']> {
  return new Promise((resolve) => {
    const settle = (ended: HookProcessOutcome['ended']): void => {
      cancelTimeout()
      signal.removeEventListener('abort', onAbort)
      resolve(ended)
    }
    const onAbort = (): void => settle('aborted')
    const cancelTimeout = clock.setTimer(timeoutMs, () => settle('timeout'))
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) settle('aborted')
    void exit.then(() => settle('exit'))
  })
}

/** Gives the rest of a group its moment. Looks often at first: most groups are gone with their shell. */
async function linger(group: number): Promise<void> {
  for (let waited = 0, wait = 1; waited < LINGER_MS && groupIsAlive(group); waited += wait, wait *= 2) {
    await pause(Math.min(wait, LINGER_MS - waited))
  }
}
