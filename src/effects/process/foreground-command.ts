/**
 * A command that a call waits for, until it ends or is let go.
 *
 *   F1  Until it is let go, the signal of its call ends it, and its time limit counts. From then on neither does: only
 *       whoever took it ends it, by `abort`.
 *   F2  What it wrote is either in what was read when it was let go, or read later: nothing is lost, nothing is there
 *       twice, and no character is cut in two. Where it is too much the middle is left out, and that is told.
 *   F3  Letting go touches nothing of the process. One that has not begun, is being ended or has ended is not let go.
 */
import type { ProcessOutcome, ProcessRequest, ProcessRunner } from './process-runner.ts'
import { createUnreadOutput, type UnreadOutput } from './unread-output.ts'

/** A command that nobody waits for any more. */
export interface LeftCommand {
  /** Settles when nothing of it runs any more. Its output is in `unread`. */
  readonly outcome: Promise<ProcessOutcome>
  /** What was not read when it was let go is still there to be taken. */
  readonly unread: UnreadOutput
  /** Ends it. */
  abort(): void
}

export interface ForegroundCommand {
  /** As of {@link ProcessRunner.run}. */
  readonly outcome: Promise<ProcessOutcome>
  /** Gives it into other hands; undefined where that cannot be done (F3). */
  letGo(): LeftCommand | undefined
}

/** Starts a command. */
export function startInForeground(
  processes: Pick<ProcessRunner, 'run'>,
  { signal, onOutput, onStarted, ...request }: Omit<ProcessRequest, 'released'>,
): ForegroundCommand {
  const end = new AbortController()
  const release = new AbortController()
  const unread = createUnreadOutput(request.maxOutputBytes)
  let state: 'starting' | 'running' | 'over' | 'left' = 'starting'
  const onAbort = (): void => {
    state = 'over'
    end.abort(signal.reason)
  }
  const over = (): void => {
    if (state !== 'left') state = 'over'
    signal.removeEventListener('abort', onAbort)
    unread.end()
  }
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  const outcome = processes
    .run({
      ...request,
      signal: end.signal,
      released: release.signal,
      onOutput: (chunk) => {
        unread.push(chunk)
        onOutput?.(chunk)
      },
      onStarted: (process) => {
        if (state === 'starting') state = 'running'
        onStarted?.(process)
      },
    })
    .finally(over)
  return {
    outcome,
    letGo() {
      if (state !== 'running') return undefined
      state = 'left'
      signal.removeEventListener('abort', onAbort)
      release.abort()
      return { outcome, unread, abort: () => end.abort() }
    },
  }
}
