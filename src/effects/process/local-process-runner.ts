/**
 * Runs shell commands on this machine.
 *
 * Owns: the process group of each call, from its start until nothing of it is left. Does not own: processes that
 * leave the group (`setsid`); those carry the mark and are found by `endSurvivors`, for live agents too.
 *
 * R1 A command has a session and a group of its own, its standard input is empty, and it carries its mark.
 * R2 `run` settles only when nothing of the group runs any more.
 * R3 What outlives the shell in its group (`server &`) has `LINGER_MS` to finish and is ended then: a call
 *    neither waits for an inherited pipe nor leaves a process behind. The outcome is still the shell's exit.
 * R4 What is inside of a sandbox is ended before the group, which only holds it: it hears of TERM, too.
 * R5 Output is bounded while it is read, so a command can write as much as it likes.
 *
 * Built on `node:child_process`, not on execa: what execa adds is ending the one process that it started and
 * merging two pipes, and here a whole group is ended and both streams share one pipe.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Clock, systemClock } from '../clock.ts'
import { BOX_VARIABLE, boxedBelow } from './boxed-processes.ts'
import { createCappedOutput } from './capped-output.ts'
import { endProcesses, groupIsAlive, type Patience, type Target } from './end-processes.ts'
import { endSurvivors, MARK_VARIABLE } from './end-survivors.ts'
import { type OutputPipe, openOutputPipe } from './output-pipe.ts'
import { pause } from './pause.ts'
import type { ProcessOutcome, ProcessRequest, ProcessRunner } from './process-runner.ts'
import { readProcessTable, startTimeOf } from './process-table.ts'

export interface LocalProcessRunnerOptions {
  /** For timeouts and grace periods. Default: the system's. */
  readonly clock?: Clock
  /** Milliseconds between TERM and KILL. */
  readonly graceMs?: number
  /** Names of variables that commands do not inherit from this process: secrets. */
  readonly withheldEnv?: readonly string[]
}

/** Milliseconds that the rest of a group has after its shell has ended (R3). */
const LINGER_MS = 200
/** Milliseconds to read the rest of the output when the group is gone and somebody outside holds the pipe. */
const DRAIN_MS = 200

/** A runner of real processes. Needs a POSIX system; `/bin/bash` where there is one, else `sh`. */
export function createLocalProcessRunner(options: LocalProcessRunnerOptions = {}): ProcessRunner {
  const { clock = systemClock, graceMs = 2000, withheldEnv = [] } = options
  const patience: Patience = { clock, graceMs }
  const shell = existsSync('/bin/bash') ? '/bin/bash' : 'sh'
  return {
    run: (request) => runCommand(request, shell, withheldEnv, patience),
    endSurvivors: (recorded, agentIds) => endSurvivors(recorded, agentIds, patience),
  }
}

async function runCommand(
  request: ProcessRequest,
  shell: string,
  withheldEnv: readonly string[],
  patience: Patience,
): Promise<ProcessOutcome> {
  const output = createCappedOutput(request.maxOutputBytes)
  const pipe = await openOutputPipe((chunk) => {
    output.push(chunk)
    request.onOutput?.(chunk)
  })
  if (request.signal.aborted) {
    await pipe.drain(0)
    return { output: '', exitCode: null, signal: null, ended: 'aborted', omittedBytes: 0 }
  }
  const { child, group } = await startShell(request, shell, withheldEnv, pipe)
  const exit = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
  const isBoxed = request.env?.[BOX_VARIABLE] !== undefined
  const endGroup = (): Promise<number> => endProcesses(() => leftOf(group, isBoxed), patience)
  try {
    request.onStarted?.({ pid: group, startTime: startTimeOf(group) })
    const ended = await firstOf(exit, request, patience.clock)
    if (ended === 'exit') await linger(group)
    await endGroup()
    const { code, signal } = await exit
    await pipe.drain(DRAIN_MS)
    const { text, omittedBytes } = output.text()
    return { output: text, exitCode: code, signal, ended, omittedBytes }
  } catch (error) {
    // Only `onStarted` throws: a process that nobody could record must not run on.
    await endGroup()
    await pipe.drain(0)
    throw error
  }
}

interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

async function startShell(
  request: ProcessRequest,
  shell: string,
  withheldEnv: readonly string[],
  pipe: OutputPipe,
): Promise<{ readonly child: ChildProcess; readonly group: number }> {
  const inherited = Object.entries(process.env).filter(([name]) => !withheldEnv.includes(name))
  try {
    const child = spawn(shell, ['-c', request.command], {
      cwd: request.cwd,
      env: { ...Object.fromEntries(inherited), ...request.env, [MARK_VARIABLE]: request.mark },
      detached: true,
      stdio: ['ignore', pipe.writingEnd, pipe.writingEnd],
    })
    pipe.handedOver()
    // Without a pid the reason comes as an event, in a moment. With one there is no failure to wait for.
    if (child.pid === undefined) throw await new Promise((resolve) => child.once('error', resolve))
    return { child, group: child.pid }
  } catch (cause) {
    await pipe.drain(0)
    const reason = existsSync(request.cwd)
      ? String(cause instanceof Error ? cause.message : cause)
      : `the working directory ${request.cwd} does not exist`
    throw new Error(`${shell} could not be started for ${request.mark}: ${reason}`, { cause })
  }
}

/** What is to be ended next (R4). */
function leftOf(group: number, isBoxed: boolean): readonly Target[] {
  if (!groupIsAlive(group)) return []
  const inside = isBoxed ? boxedBelow(group, readProcessTable() ?? []) : []
  return inside.length > 0 ? inside : [-group]
}

/** What comes first: the shell's own end, the time limit, or the abort. */
function firstOf(
  exit: Promise<Exit>,
  request: ProcessRequest,
  clock: Clock,
): Promise<ProcessOutcome['ended']> {
  return new Promise((resolve) => {
    const settle = (ended: ProcessOutcome['ended']): void => {
      cancelTimeout()
      request.released?.removeEventListener('abort', cancelTimeout)
      request.signal.removeEventListener('abort', onAbort)
      resolve(ended)
    }
    const onAbort = (): void => settle('aborted')
    const cancelTimeout = clock.setTimer(request.timeoutMs, () => settle('timeout'))
    request.released?.addEventListener('abort', cancelTimeout, { once: true })
    request.signal.addEventListener('abort', onAbort, { once: true })
    if (request.signal.aborted) settle('aborted')
    void exit.then(() => settle('exit'))
  })
}

/** Gives the rest of a group its moment. Looks often at first: most groups are gone with their shell. */
async function linger(group: number): Promise<void> {
  for (let waited = 0, wait = 1; waited < LINGER_MS && groupIsAlive(group); waited += wait, wait *= 2) {
    await pause(Math.min(wait, LINGER_MS - waited))
  }
}
