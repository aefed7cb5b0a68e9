/**
 * The background shells of one agent.
 *
 * Owns: which shells there are, their unread output, and their end. Does not own: processes that leave the group of
 * their shell; they carry the agent's mark and are found by `endSurvivors`.
 *
 * T0 A shell is started here, or was a command that a call waited for and that was let go (`adopt`).
 * T1 A shell belongs to the agent, not to the call that started it: the end of the call or of its turn leaves it alone.
 * T2 `endAll` resolves when nothing of any shell runs any more. Whoever ends the agent calls it first (law 9).
 * T3 Shells and output are bounded (law 8). Output that nobody reads loses its middle, and the gap is told.
 * T4 Nothing here survives the process. What a crash leaves running is ended at the resume by its mark; ids are made
 *    of the call's, so that an old id never names a new shell.
 */

import { messageOf } from '../../definitions/message-of.ts'
import type { Clock } from '../clock.ts'
import type { ForegroundCommand } from './foreground-command.ts'
import { inputNotice, watchForInput } from './input-watch.ts'
import type { ProcessOutcome, ProcessRunner } from './process-runner.ts'
import { createUnreadOutput, type UnreadOutput } from './unread-output.ts'

/** What has become of a shell. `killed`: by KillShell or with its agent. `failed`: it could not be started or watched. */
export type ShellEnd =
  | { readonly status: 'exited'; readonly exitCode: number | null; readonly signal: string | null }
  | { readonly status: 'timedOut' }
  | { readonly status: 'killed' }
  | { readonly status: 'failed'; readonly message: string }

/** A shell as others see it. */
export interface ShellState {
  readonly id: string
  readonly command: string
  /** Undefined while it runs. */
  readonly end: ShellEnd | undefined
}

/** A look at a shell: its state, and what it wrote since the last look. */
export interface ShellReading extends ShellState {
  readonly output: string
  /** Bytes left out of the middle of `output`. */
  readonly omittedBytes: number
}

/** What to start. */
export interface ShellRequest {
  /** Unique over the life of the agent. */
  readonly id: string
  readonly command: string
  readonly cwd: string
  /** `<agent>/<call>`. */
  readonly mark: string
  /** Milliseconds until it is ended; absent: it runs until it ends or is ended. */
  readonly timeoutMs?: number
  readonly processes: ProcessRunner
}

/** The shells of one agent. */
export interface ShellTable {
  /** Resolves as soon as the process exists. Rejects when it cannot be started, or too many run already. */
  start(request: ShellRequest): Promise<void>
  /**
   * Takes a command that a call waits for as a shell, and hands out what it wrote so far, which then counts as read.
   * Undefined when it cannot be let go, or too many run already: then nothing has changed.
   */
  adopt(id: string, command: string, running: ForegroundCommand): Pick<ShellReading, 'output'> | undefined
  /** A shell with its unread output, which then counts as read. Undefined when there is none of that id. */
  read(id: string): ShellReading | undefined
  /** Ends a shell and resolves when it is gone. Undefined when there is none of that id. */
  kill(id: string): Promise<ShellState | undefined>
  /** Ends all that run, also those that are just being started; resolves when they are gone. The table stays usable. */
  endAll(): Promise<void>
  /** In the order in which they were started. */
  list(): readonly ShellState[]
}

export interface ShellTableOptions {
  readonly clock: Clock
  /** Running at once. */
  readonly maxRunning?: number
  /** Bytes of unread output kept per shell. */
  readonly maxUnreadBytes?: number
  /** Told once per shell that ended by itself: not of those that were killed. */
  readonly onEnded?: (shell: ShellState) => void
  /** Told when a shell seems to wait for an answer. */
  readonly notify?: (text: string) => void
}

/** Ended shells that are remembered, so that their last output can be read. */
const MAX_ENDED = 32
/** No timer of Node is longer; about 24 days. */
const FOR_EVER_MS = 2 ** 31 - 1

interface Shell {
  readonly id: string
  readonly command: string
  readonly abort: () => void
  readonly unread: UnreadOutput
  /** Settles when nothing of it runs; never rejects. */
  gone: Promise<void>
  end: ShellEnd | undefined
}

/** An empty table. One per agent. */
export function createShellTable(options: ShellTableOptions): ShellTable {
  const { clock, maxRunning = 16, maxUnreadBytes = 30_000, onEnded, notify } = options
  const shells = new Map<string, Shell>()
  const running = (): readonly Shell[] => [...shells.values()].filter(({ end }) => end === undefined)

  const forgetOldest = (): void => {
    const ended = [...shells].filter(([, { end }]) => end !== undefined)
    for (const [id] of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) shells.delete(id)
  }

  const isFull = (): boolean => running().length >= maxRunning

  const follow = async (
    shell: Shell,
    { command, cwd, mark, timeoutMs = FOR_EVER_MS, processes }: ShellRequest,
    signal: AbortSignal,
    onStarted: () => void,
  ): Promise<void> => {
    const watch = watchForInput(clock, (line) => notify?.(inputNotice(command, line)))
    try {
      const outcome = await processes.run({
        ...{ command, cwd, mark, timeoutMs, signal, onStarted },
        // All of it goes through `onOutput`; the outcome's own is not looked at.
        maxOutputBytes: 0,
        onOutput: (chunk) => {
          shell.unread.push(chunk)
          watch.saw(chunk)
        },
      })
      shell.end = endOf(outcome)
    } catch (error) {
      shell.end = { status: 'failed', message: messageOf(error) }
    } finally {
      watch.stop()
      shell.unread.end()
    }
  }

  /** A shell that has run. */
  const over = (shell: Shell): void => {
    if (shell.end?.status !== 'killed') onEnded?.(stateOf(shell))
    forgetOldest()
  }

  const kill = async (shell: Shell): Promise<void> => {
    shell.abort()
    await shell.gone
  }

  return {
    async start(request) {
      if (shells.has(request.id)) throw new Error(`There is a background shell ${request.id} already.`)
      if (isFull()) {
        throw new Error(
          `${maxRunning} background shells are running, which is the most an agent can have. End one with KillShell first.`,
        )
      }
      const abort = new AbortController()
      const shell: Shell = {
        ...{ id: request.id, command: request.command },
        abort: () => abort.abort(),
        unread: createUnreadOutput(maxUnreadBytes),
        gone: Promise.resolve(),
        end: undefined,
      }
      shells.set(request.id, shell)
      await new Promise<void>((resolve, reject) => {
        let hasStarted = false
        const onStarted = (): void => {
          hasStarted = true
          resolve()
        }
        shell.gone = follow(shell, request, abort.signal, onStarted).then(() => {
          if (!hasStarted) {
            shells.delete(request.id)
            return reject(new Error(failureOf(shell.end)))
          }
          over(shell)
        })
      })
    },
    adopt(id, command, inForeground) {
      const left = shells.has(id) || isFull() ? undefined : inForeground.letGo()
      if (left === undefined) return undefined
      const { abort, unread, outcome } = left
      const shell: Shell = { ...{ id, command, abort, unread }, gone: Promise.resolve(), end: undefined }
      shells.set(id, shell)
      shell.gone = outcome
        .then(endOf, (error: unknown): ShellEnd => ({ status: 'failed', message: messageOf(error) }))
        .then((end) => {
          shell.end = end
          over(shell)
        })
      return { output: unread.take().text }
    },
    read(id) {
      const shell = shells.get(id)
      if (shell === undefined) return undefined
      const { text, omittedBytes } = shell.unread.take()
      return { ...stateOf(shell), output: text, omittedBytes }
    },
    async kill(id) {
      const shell = shells.get(id)
      if (shell === undefined) return undefined
      await kill(shell)
      return stateOf(shell)
    },
    async endAll() {
      for (let left = running(); left.length > 0; left = running()) await Promise.all(left.map(kill))
    },
    list: () => [...shells.values()].map(stateOf),
  }
}

const stateOf = ({ id, command, end }: Shell): ShellState => ({ id, command, end })

function endOf({ ended, exitCode, signal }: ProcessOutcome): ShellEnd {
  switch (ended) {
    case 'exit':
      return { status: 'exited', exitCode, signal }
    case 'timeout':
      return { status: 'timedOut' }
    case 'aborted':
      return { status: 'killed' }
  }
}

const failureOf = (end: ShellEnd | undefined): string =>
  end?.status === 'failed' ? end.message : 'The shell was ended before it had started.'

/** What has become of a shell, in a few words. */
export function describeShell({ end }: ShellState): string {
  switch (end?.status) {
    case undefined:
      return 'running'
    case 'exited':
      return end.signal === null ? `ended with exit code ${end.exitCode}` : `ended by signal ${end.signal}`
    case 'timedOut':
      return 'ended at its time limit'
    case 'killed':
      return 'killed'
    case 'failed':
      return `lost: ${end.message}`
  }
}
