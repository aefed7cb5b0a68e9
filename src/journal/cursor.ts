/**
 * What a writer has to know about a log to write its next line: who writes, and where it stands. Both are small
 * and stay so, however long the log gets.
 */
import type { AgentEventOf, Recorded } from '../machines/agent/events.ts'
import { isToolUse } from '../machines/agent/messages.ts'
import type { AgentId, CallId, SessionId } from '../machines/ids.ts'

/** What every line of a log says about its agent. Make one per agent and keep it: its JSON is remembered by identity. */
export interface LogIdentity {
  readonly sessionId: SessionId
  readonly agentId: AgentId
  /** False for the root agent only. */
  readonly isSidechain: boolean
  readonly cwd: string
  /** Version of the writing program, semver. */
  readonly version: string
  readonly gitBranch?: string | undefined
}

/** Where a log stands. */
export interface LogCursor {
  /** Position of the next line. */
  readonly seq: number
  /** Id of the last conversation line that counts: the next one's `parentUuid`. */
  readonly lastLine: string | null
  /** The run that is on or was last; 0 before the first. */
  readonly run: number
  /** Calls of the last reply without a result, each with the id of the line that asked for it. */
  readonly openCalls: ReadonlyMap<CallId, string>
}

const NO_CALLS: ReadonlyMap<CallId, string> = new Map()

/** The cursor of an empty log. */
export const START_CURSOR: LogCursor = { seq: 0, lastLine: null, run: 0, openCalls: NO_CALLS }

/** How many lines an event takes: its conversation lines, or one lifecycle line. */
export function lineCount(recorded: Recorded): number {
  return Math.max(1, recorded.lines.length)
}

/** The cursor behind an event. The writer and the reader share it, so that they cannot disagree. */
export function cursorAfter(cursor: LogCursor, recorded: Recorded): LogCursor {
  const { event, lines } = recorded
  return {
    seq: recorded.seq + lineCount(recorded),
    lastLine: lines.at(-1) ?? cursor.lastLine,
    run: event.type === 'run.started' ? event.run : cursor.run,
    openCalls: openCallsAfter(cursor.openCalls, recorded),
  }
}

/** Only the calls of one reply are ever open: a reply replaces them, a run's start and end forget them. */
function openCallsAfter(
  openCalls: ReadonlyMap<CallId, string>,
  { event, lines }: Recorded,
): ReadonlyMap<CallId, string> {
  if (event.type === 'reply.received') return callLines(event, lines)
  if (event.type === 'run.started' || event.type === 'agent.ended') return NO_CALLS
  if (event.type !== 'call.ended' || !openCalls.has(event.callId)) return openCalls
  if (openCalls.size === 1) return NO_CALLS
  const open = new Map(openCalls)
  open.delete(event.callId)
  return open
}

function callLines(
  { reply, calls }: AgentEventOf<'reply.received'>,
  lines: readonly string[],
): ReadonlyMap<CallId, string> {
  if (calls.length === 0) return NO_CALLS
  const lineIds = lines.filter((_, i) => isToolUse(reply.content[i] ?? { type: '' }))
  return new Map(calls.map((call, i) => [call.callId, lineIds[i] ?? '']))
}
