/**
 * Processes, as a port. Every process runs in a group of its own and carries `TROUPE_CALL=<agent>/<call>` in
 * its environment, so that a resume finds what survived a crash.
 */

export interface ProcessRequest {
  /** A shell command line, run by bash. */
  readonly command: string
  readonly cwd: string
  /** `<agent>/<call>`. */
  readonly mark: string
  readonly env?: Readonly<Record<string, string>>
  /** Milliseconds until the group is ended. */
  readonly timeoutMs: number
  /** Bytes of output kept, head and tail; the rest is counted and left out. */
  readonly maxOutputBytes: number
  readonly signal: AbortSignal
  /** Fires when nobody waits for the command any more: from then on `timeoutMs` does not count. Absent: it always does. */
  readonly released?: AbortSignal
  /** Called with all output as it comes, before the cap. Must not throw. */
  readonly onOutput?: (chunk: Buffer) => void
  /** Called once, as soon as the process exists and before its end is reported. */
  readonly onStarted?: (process: { readonly pid: number; readonly startTime: string | undefined }) => void
}

export interface ProcessOutcome {
  /** Standard output and error as they came, interleaved, capped. */
  readonly output: string
  /** Null when a signal ended it. */
  readonly exitCode: number | null
  readonly signal: string | null
  readonly ended: 'exit' | 'timeout' | 'aborted'
  /** Bytes left out of the middle of `output`. */
  readonly omittedBytes: number
}

/** A process of an earlier engine: what the log says of it. */
export interface RecordedProcess {
  readonly mark: string
  readonly pid: number
  readonly startTime: string | undefined
}

export interface ProcessRunner {
  /**
   * Runs a command to its end. Resolves only when the whole group is gone: an abort or a timeout sends TERM,
   * waits a grace period, sends KILL, and resolves after the exit was seen. Rejects when it cannot be started.
   */
  run(request: ProcessRequest): Promise<ProcessOutcome>
  /**
   * Ends what a dead engine left running: the recorded processes (start time checked, so that a reused pid is
   * left alone) and, on Linux, every process that carries one of the agents' marks. Resolves with how many
   * groups were ended, after they are gone.
   */
  endSurvivors(recorded: readonly RecordedProcess[], agentIds: readonly string[]): Promise<number>
}
