/** Sessions on the disk, as the command line reads them. Reading takes no lock and changes nothing. */
import type { LogEntry, Remark } from '../journal/log-entry.ts'

export type { LogEntry, Remark }

export interface SessionSummary {
  readonly sessionId: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly lastAt: number
  /** Undefined when the log does not say. */
  readonly firstPrompt: string | undefined
  /** The root counts. */
  readonly agents: number
  /** Why its log could not be read. */
  readonly unreadable?: string
}

export interface SessionReader {
  /** The sessions of the working directory, the latest first. */
  list(): Promise<readonly SessionSummary[]>
  /** Id of the session that was written to last; undefined when there is none. */
  latest(): Promise<string | undefined>
  /** The one session whose id begins so. Rejects with a `CliError` when there is none, or more than one. */
  find(idPrefix: string): Promise<string>
  /** Paths of a session's logs, the root's first. */
  logsOf(sessionId: string): Promise<readonly string[]>
  /** The log of one agent of a session. */
  logOf(sessionId: string, agentId: string): string
  /** A log file and, when it is a root's, those of its descendants. Rejects with a `CliError` when there is none. */
  logsAt(path: string): Promise<readonly string[]>
  /** Reads a log from its beginning, with bounded memory. */
  read(path: string): AsyncIterable<LogEntry>
  /** Number of the line that a byte belongs to, from 1. Reads the file up to there. */
  lineAt(path: string, offset: number): Promise<number>
}
