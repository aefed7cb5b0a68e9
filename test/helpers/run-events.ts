/**
 * Builders of the events of a run: a test says what matters to it, the rest has harmless values.
 */

import { callsOf } from '../../src/machines/agent/calls.ts'
import type { RunEvent, RunEventType } from '../../src/machines/agent/events.ts'
import { MACHINE_VERSION } from '../../src/machines/agent/events.ts'
import type { ContentBlock } from '../../src/machines/agent/messages.ts'
import type { CallId } from '../../src/machines/ids.ts'
import { AgentId, BlobHash, callId } from '../../src/machines/ids.ts'

/** The event of one type. */
export type RunEventOf<T extends RunEventType> = Extract<RunEvent, { type: T }>

/** The agent whose runs the tests tell. */
export const AGENT = AgentId.parse('a0000000000000001')
/** The number of the run that they tell. */
export const RUN = 1

const fault = (code: string) => ({ code, message: `it broke (${code})`, retryable: false })

/** The id of the call in block `index` of the reply at position `at`. */
export const call = (at: number, index = 0): CallId => callId(RUN, at + index, 0)

/** A call that no reply ever asked for. */
export const UNKNOWN_CALL = callId(RUN, 999_999, 0)

export const started = (
  more: Partial<Omit<RunEventOf<'run.started'>, 'type'>> = {},
): RunEventOf<'run.started'> => ({
  type: 'run.started',
  run: RUN,
  machine: MACHINE_VERSION,
  content: 'please do it',
  origin: { from: 'user' },
  ...more,
})

export const prepared = (
  report?: { hasSchema: boolean; corrections: number },
  review?: RunEventOf<'agent.prepared'>['review'],
): RunEventOf<'agent.prepared'> => ({
  type: 'agent.prepared',
  system: BlobHash.parse('0'.repeat(64)),
  tools: BlobHash.parse('1'.repeat(64)),
  ...(report !== undefined && { report }),
  ...(review !== undefined && { review }),
})

export const reviewRequested = (): RunEventOf<'review.requested'> => ({ type: 'review.requested' })

type Judged = RunEventOf<'review.ended'>['verdict']

export const reviewEnded = (verdict: Judged = { kind: 'allow' }): RunEventOf<'review.ended'> => ({
  type: 'review.ended',
  verdict,
  model: 'a-small-model',
  usage: { input_tokens: 7, output_tokens: 3 },
  durationMs: 5,
})

export const callClassified = (
  id: CallId,
  verdict: Judged = { kind: 'allow' },
): RunEventOf<'call.classified'> => ({
  type: 'call.classified',
  callId: id,
  verdict,
  model: 'a-small-model',
  usage: { input_tokens: 7, output_tokens: 3 },
  durationMs: 5,
})

export const reportRejected = (): RunEventOf<'report.rejected'> => ({
  type: 'report.rejected',
  problem: 'it is no JSON',
})

export const reportAccepted = (problem?: string): RunEventOf<'report.accepted'> => ({
  type: 'report.accepted',
  ...(problem !== undefined && { problem }),
})

export const approvalRequested = (id: CallId): RunEventOf<'approval.requested'> => ({
  type: 'approval.requested',
  callId: id,
  reason: 'the mode asks for approval',
})

export const approvalAnswered = (id: CallId): RunEventOf<'approval.answered'> => ({
  type: 'approval.answered',
  callId: id,
  decision: 'allow',
  by: 'host',
})

export const questionAsked = (id: CallId): RunEventOf<'question.asked'> => ({
  type: 'question.asked',
  callId: id,
  place: 0,
  about: 'questions',
})

export const questionAnswered = (id: CallId): RunEventOf<'question.answered'> => ({
  type: 'question.answered',
  callId: id,
  place: 0,
  answer: { kind: 'none' },
  by: 'host',
})

export const modeChanged = (): RunEventOf<'mode.changed'> => ({
  type: 'mode.changed',
  from: 'plan',
  mode: 'default',
  given: 'plan',
  by: 'host',
})

export const drained = (): RunEventOf<'run.drained'> => ({ type: 'run.drained' })

export const stopBlocked = (): RunEventOf<'stop.blocked'> => ({ type: 'stop.blocked' })

export const hookStarted = (): RunEventOf<'hook.started'> => ({
  type: 'hook.started',
  hook: 'hook:0.0',
  moment: 'SubagentStop#0',
  event: 'SubagentStop',
  place: 0,
  label: 'a hook',
})

export const hookProcessStarted = (): RunEventOf<'hook.process_started'> => ({
  type: 'hook.process_started',
  hook: 'hook:0.0',
  pid: 4713,
})

export const hookEnded = (): RunEventOf<'hook.ended'> => ({
  type: 'hook.ended',
  hook: 'hook:0.0',
  durationMs: 1,
  outcome: { kind: 'aborted' },
})

export const permissionGranted = (): RunEventOf<'permission.granted'> => ({
  type: 'permission.granted',
  rule: 'Bash(ls:*)',
  by: 'host',
})

export const budgetRefused = (
  limit: RunEventOf<'budget.refused'>['limit'] = 'tokens',
): RunEventOf<'budget.refused'> => ({ type: 'budget.refused', limit, of: 1_000, used: 900, asked: 200 })

export const budgetWarned = (): RunEventOf<'budget.warned'> => ({
  type: 'budget.warned',
  limit: 'money',
  of: 1,
  used: 0.8,
})

export const progressSummarised = (): RunEventOf<'progress.summarised'> => ({
  type: 'progress.summarised',
  text: 'reading the tests',
  modelUsage: { m: { input_tokens: 10, output_tokens: 2 } },
})

export const nameRegistered = (): RunEventOf<'name.registered'> => ({
  type: 'name.registered',
  name: 'finder',
  agentId: CHILD,
})

export const timeExpired = (): RunEventOf<'time.expired'> => ({ type: 'time.expired', of: 60_000 })

export const contextExceeded = (): RunEventOf<'context.exceeded'> => ({
  type: 'context.exceeded',
  tokens: 170_000,
  of: 155_000,
})

export const resultsCut = (id: CallId = UNKNOWN_CALL): RunEventOf<'results.cut'> => ({
  type: 'results.cut',
  results: [{ callId: id, content: 'the ends' }],
  saves: 10_000,
})

export const compacted = (upTo = 0, summary = 'what was before'): RunEventOf<'conversation.compacted'> => ({
  type: 'conversation.compacted',
  summary,
  upTo,
  trigger: 'auto',
  tokens: 170_000,
  modelUsage: { 'a-model': { input_tokens: 1_000, output_tokens: 100 } },
})

export const compactionFailed = (): RunEventOf<'compaction.failed'> => ({
  type: 'compaction.failed',
  fault: fault('no-summary'),
})

export const modelChanged = (): RunEventOf<'model.changed'> => ({
  type: 'model.changed',
  from: 'a-model',
  to: 'another',
  why: fault('overloaded'),
})

export const messageAdded = (): RunEventOf<'message.added'> => ({
  type: 'message.added',
  about: 'agents',
  content: 'there is a new agent',
  origin: { from: 'engine' },
})

/** A child whose runs in the background the tests tell of. */
export const CHILD = AgentId.parse('a0000000000000002')
export const CHILD_RUN = { agentId: CHILD, run: 1 }
/** The id of a message that it sent. */
export const MESSAGE = `${CHILD}:1-2-0`

export const childLaunched = (): RunEventOf<'child.launched'> => ({
  type: 'child.launched',
  child: CHILD_RUN,
})

export const childReleased = (): RunEventOf<'child.released'> => ({
  type: 'child.released',
  child: CHILD_RUN,
})

export const messageAccepted = (): RunEventOf<'message.accepted'> => ({
  type: 'message.accepted',
  messageId: MESSAGE,
  content: 'have a look at b, too',
  origin: { from: 'agent', agentId: CHILD },
})

/** What is new is told: the end of a child, a message, or both. */
export const newsTold = (news: 'end' | 'message' | 'both' = 'both'): RunEventOf<'message.added'> => ({
  ...messageAdded(),
  about: 'news',
  ...(news !== 'message' && { tells: [CHILD_RUN] }),
  ...(news !== 'end' && { injects: [MESSAGE] }),
})

export const diagnosed = (): RunEventOf<'agent.diagnosed'> => ({
  type: 'agent.diagnosed',
  code: 'skill-unknown',
  message: 'there is no skill of this name',
})

/** The life of a worktree, in order. */
export const worktreeEvents = (): readonly RunEvent[] => [
  {
    type: 'worktree.requested',
    name: 'agent-01234567',
    from: '/repo',
    git: {
      path: '/repo/.claude/worktrees/agent-01234567',
      branch: 'worktree-agent-01234567',
      base: '0'.repeat(40),
      repository: '/repo/.git',
    },
  },
  { type: 'worktree.created', path: '/repo/.claude/worktrees/agent-01234567' },
  { type: 'worktree.decided', fate: 'removed', reasons: ['nothing in it was changed'] },
  { type: 'worktree.removed' },
  { type: 'worktree.left' },
]

export const serversRequested = (): RunEventOf<'servers.requested'> => ({
  type: 'servers.requested',
  servers: ['db'],
})

export const serverStarted = (): RunEventOf<'server.started'> => ({
  type: 'server.started',
  server: 'db',
  pid: 4712,
})

/** A tool that may run beside others, by its name; or one that must run alone. */
export type CallSpec = string | { readonly alone: string }

export const alone = (name: string): CallSpec => ({ alone: name })

export interface ReplySpec {
  /** Position of its first line. */
  readonly at: number
  /** Its text. Absent: no text block at all. */
  readonly says?: string
  /** Calls that follow the text; without text, call `i` is block `i`. */
  readonly calls?: readonly CallSpec[]
  /** Default: `tool_use` with calls, `end_turn` without. */
  readonly stop?: string
  /** Input of every call, which the machine must not remember. */
  readonly input?: unknown
}

export function replied({ at, says, calls = [], stop, input = {} }: ReplySpec): RunEventOf<'reply.received'> {
  const text: ContentBlock[] = says === undefined ? [] : [{ type: 'text', text: says }]
  const toolUses = calls.map((spec, i) => ({
    type: 'tool_use',
    id: `toolu_${at}_${i}`,
    name: typeof spec === 'string' ? spec : spec.alone,
    input,
  }))
  const reply = {
    id: `msg_${at}`,
    type: 'message' as const,
    role: 'assistant' as const,
    model: 'a-model',
    content: [...text, ...toolUses],
    stop_reason: stop ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: { input_tokens: 100, output_tokens: 10 },
  }
  const mayOverlap = [...text.map(() => false), ...calls.map((spec) => typeof spec === 'string')]
  return { type: 'reply.received', reply, seq: at, calls: callsOf(reply, RUN, at, mayOverlap) }
}

export const requestFailed = (code = 'unreachable'): RunEventOf<'request.failed'> => ({
  type: 'request.failed',
  fault: fault(code),
  attempts: 11,
})

export const callStarted = (id: CallId): RunEventOf<'call.started'> => ({ type: 'call.started', callId: id })

export const processStarted = (id: CallId): RunEventOf<'process.started'> => ({
  type: 'process.started',
  callId: id,
  pid: 4711,
})

export const callEnded = (
  id: CallId,
  outcome: RunEventOf<'call.ended'>['outcome'] = 'ok',
  content = 'the result',
): RunEventOf<'call.ended'> => ({
  type: 'call.ended',
  callId: id,
  outcome,
  result: { type: 'tool_result', tool_use_id: `toolu_of_${id}`, content },
})

/** The end of a call that has agreed to a stop. `reason`: the report. */
export const stopAgreed = (id: CallId, reason?: string): RunEventOf<'call.ended'> => ({
  ...callEnded(id, 'ok', 'You have agreed to stop.'),
  answers: { requestId: `${CHILD}:1.2.0`, approve: true, ...(reason !== undefined && { reason }) },
})

export const killed = (by = 'the user', reason?: string): RunEventOf<'kill.requested'> => ({
  type: 'kill.requested',
  by,
  ...(reason !== undefined && { reason }),
})

export const faulted = (code = 'bug'): RunEventOf<'agent.faulted'> => ({
  type: 'agent.faulted',
  fault: fault(code),
})

export const backgrounded = (): RunEventOf<'agent.backgrounded'> => ({
  type: 'agent.backgrounded',
  by: 'the user',
})

export const suspended = (): RunEventOf<'run.suspended'> => ({ type: 'run.suspended', reason: 'crashed' })

export const resumed = (): RunEventOf<'run.resumed'> => ({ type: 'run.resumed' })
