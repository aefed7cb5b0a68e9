/**
 * What can happen to an agent: one discriminated union, the vocabulary of every log.
 *
 * Past facts, `noun.past`. Each event is a loose object, so that a field of a newer version survives a round trip;
 * the small values inside are closed. Conversation events (`run.started`, `reply.received`, `call.ended`) are stored as transcript lines,
 * all others as short lifecycle lines; the codec in `journal/` knows which. Time, ids and anything random are
 * data in here: a machine never asks for them.
 */
import * as z from 'zod'
import {
  AgentBackgrounded,
  ChildLaunched,
  ChildReleased,
  MessageAccepted,
  NameRegistered,
} from './events/background.ts'
import {
  AgentDiagnosed,
  AgentPrepared,
  AgentSpawned,
  ServerStarted,
  ServersRequested,
} from './events/birth.ts'
import { CallEnded, CallStarted, ProcessStarted } from './events/calls.ts'
import {
  CompactionFailed,
  ContextExceeded,
  ConversationCompacted,
  MessageAdded,
  ResultsCut,
} from './events/conversation.ts'
import { HookEnded, HookProcessStarted, HookStarted } from './events/hooks.ts'
import {
  ApprovalAnswered,
  ApprovalRequested,
  ModeChanged,
  PermissionGranted,
  QuestionAnswered,
  QuestionAsked,
} from './events/permissions.ts'
import {
  BudgetRefused,
  BudgetWarned,
  ModelChanged,
  ProgressSummarised,
  ReplyReceived,
  RequestFailed,
  TimeExpired,
} from './events/request.ts'
import { CallClassified, ReviewEnded, ReviewRequested } from './events/review.ts'
import {
  AgentEnded,
  AgentFaulted,
  KillRequested,
  ReportAccepted,
  ReportRejected,
  RunDrained,
  RunResumed,
  RunStarted,
  RunSuspended,
  StopBlocked,
} from './events/run.ts'
import {
  WorktreeCreated,
  WorktreeDecided,
  WorktreeLeft,
  WorktreeRemoved,
  WorktreeRequested,
} from './events/worktree.ts'
import type { Reply } from './messages.ts'

export * from './events/background.ts'
export * from './events/birth.ts'
export * from './events/calls.ts'
export * from './events/conversation.ts'
export * from './events/hooks.ts'
export * from './events/permissions.ts'
export * from './events/request.ts'
export * from './events/review.ts'
export * from './events/run.ts'
export * from './events/values.ts'
export * from './events/worktree.ts'

/** The version of the agent machine that new runs are recorded under. A change that would fold a recorded history differently raises it. */
export const MACHINE_VERSION = 1

/** Everything that one line, or one group of lines, of a log can say. */
export const AgentEvent = z.discriminatedUnion('type', [
  AgentSpawned,
  AgentPrepared,
  WorktreeRequested,
  WorktreeCreated,
  WorktreeDecided,
  WorktreeRemoved,
  WorktreeLeft,
  ServersRequested,
  ServerStarted,
  AgentDiagnosed,
  ChildLaunched,
  ChildReleased,
  MessageAccepted,
  NameRegistered,
  MessageAdded,
  RunStarted,
  RunSuspended,
  RunResumed,
  RunDrained,
  StopBlocked,
  ReviewRequested,
  ReviewEnded,
  HookStarted,
  HookProcessStarted,
  HookEnded,
  AgentEnded,
  AgentFaulted,
  KillRequested,
  AgentBackgrounded,
  ReplyReceived,
  RequestFailed,
  ModelChanged,
  BudgetRefused,
  BudgetWarned,
  ProgressSummarised,
  TimeExpired,
  ContextExceeded,
  ResultsCut,
  ConversationCompacted,
  CompactionFailed,
  ReportAccepted,
  ReportRejected,
  CallStarted,
  CallClassified,
  ApprovalRequested,
  ApprovalAnswered,
  QuestionAsked,
  QuestionAnswered,
  ModeChanged,
  PermissionGranted,
  ProcessStarted,
  CallEnded,
])
export type AgentEvent = z.infer<typeof AgentEvent>
export type AgentEventType = AgentEvent['type']
/** The event of one type. */
export type AgentEventOf<T extends AgentEventType> = Extract<AgentEvent, { type: T }>

/** What the machine of a run is sent: everything but the agent's birth, which precedes its runs. */
export type RunEvent = Exclude<AgentEvent, { type: 'agent.spawned' }>
export type RunEventType = RunEvent['type']

/** A reply before it has a place in a log: it does not know its position and its call ids yet. */
export interface ReplyDraft {
  readonly type: 'reply.received'
  readonly reply: Reply
  readonly requestId?: string | undefined
  /** For each block of the reply: may it run beside its neighbours? Only read for `tool_use` blocks. */
  readonly concurrencySafe: readonly boolean[]
}

/** What is posted to a mailbox: an event, or a reply that gets its position when it is encoded. */
export type EventDraft = Exclude<AgentEvent, { type: 'reply.received' }> | ReplyDraft

/** An event with its place. `seq` is the position of its (first) line, `lines` the ids of its conversation lines. */
export interface Recorded<E extends AgentEvent = AgentEvent> {
  readonly seq: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly event: E
  readonly lines: readonly string[]
}
