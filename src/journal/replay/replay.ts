/**
 * An agent as it was after any event of its log. Pure but for reading: starts no effect, reads no clock, draws no
 * random number (law 2).
 */
import type { Phase } from '../../machines/agent/accepts.ts'
import type { Base, Recorded } from '../../machines/agent/events.ts'
import type { AgentState } from '../../machines/agent/fold.ts'
import { UNBORN } from '../../machines/agent/fold.ts'
import type { RequestMessage } from '../../machines/agent/messages.ts'
import type { AgentId } from '../../machines/ids.ts'
import type { Violation } from '../check/check-log.ts'
import { checkLog } from '../check/check-log.ts'
import type { EventEntry, LogEntry, Remark } from '../log-entry.ts'
import type { Conversation } from '../projections/conversation.ts'
import { createConversation } from '../projections/conversation.ts'
import { requestMessages } from '../projections/request-messages.ts'
import type { ModelUsage } from '../projections/usage.ts'
import { createUsageTotals } from '../projections/usage.ts'
import { readEntries } from '../read-entries.ts'
import type { Storage } from '../storage.ts'
import type { UpcasterTable } from '../upcast.ts'
import { loadBase } from './base.ts'

export interface ReplayOptions {
  /** Position of the last line that counts. Default: all of them. A reply counts with its last line. */
  readonly until?: number | undefined
  /** For logs with events of shapes that only the caller knows. */
  readonly upcasters?: UpcasterTable
}

/** An agent at one moment, and what its log says of itself. */
export interface Replay {
  readonly path: string
  /** Undefined when the log has no event there. */
  readonly agentId: AgentId | undefined
  /** Its birth and its run: the machine's snapshot as the live one was. */
  readonly state: AgentState
  readonly phase: Phase | 'idle' | 'unborn'
  /** The process stopped running it and none has gone on. */
  readonly isSuspended: boolean
  /** Events of its own log. */
  readonly events: number
  /** Position of the last line that counted; -1 when there is none. */
  readonly position: number
  /** Time of the last event in milliseconds since the epoch; undefined when there is none. */
  readonly at: number | undefined
  /** What was said; of a branch also what it shares with its base. */
  readonly conversation: Conversation
  /** The messages of a request at this moment. */
  readonly messages: readonly RequestMessage[]
  /** Tokens by model: of the run that is on or was last, and of all runs. A base's are not its branch's. */
  readonly usage: { readonly run: ModelUsage; readonly all: ModelUsage }
  /** What it goes on from, when it is a branch. */
  readonly base: Base | undefined
  /** Damage, and what a kill left. */
  readonly damage: readonly Remark[]
  /** Lines of other programs or newer versions. */
  readonly foreign: number
  /** The first event that breaks a law; nothing behind it counts. */
  readonly violations: readonly Violation[]
}

/**
 * Folds a log, ours or a transcript, up to a position. Rejects with a `StorageError` when it cannot be read, and with
 * a `BaseError` when it is a branch whose base is gone or changed.
 */
export function replay(storage: Storage, path: string, options: ReplayOptions = {}): Promise<Replay> {
  const { until, upcasters } = options
  return replayEntries(storage, path, readEntries(storage, path, { ...(upcasters && { upcasters }) }), until)
}

/** {@link replay} of entries that somebody has chosen. */
export async function replayEntries(
  storage: Storage,
  path: string,
  entries: AsyncIterable<LogEntry>,
  until?: number,
): Promise<Replay> {
  const recorded: Recorded[] = []
  const usage = createUsageTotals()
  let state = UNBORN
  const onEvent = (entry: EventEntry, after: AgentState): void => {
    recorded.push(entry.recorded)
    usage.push(entry.recorded)
    state = after
  }
  const check = await checkLog(entries, { until, onEvent })
  const base = state.birth?.base
  const shared = base === undefined ? undefined : (await loadBase(storage, base, path)).conversation
  const conversation = shared?.fork(shared.length) ?? createConversation()
  for (const event of recorded) conversation.push(event)
  return {
    path,
    agentId: state.birth?.agentId,
    state,
    phase: check.agent.phase,
    isSuspended: check.agent.isSuspended,
    events: check.events,
    position: check.position,
    at: recorded.at(-1)?.at,
    conversation,
    messages: requestMessages(conversation.entries(), state.birth?.plan.model.value),
    usage: { run: usage.ofRun(), all: usage.ofAll() },
    base,
    damage: check.remarks,
    foreign: check.foreign,
    violations: check.violation === undefined ? [] : [check.violation],
  }
}
