/**
 * What a run remembers: ids, counts and positions in the log, never content, so that an event costs the same
 * at message 10 and at message 10,000.
 */
import type { AgentId } from '../ids.ts'
import type { OpenCall } from './calls.ts'
import type { AgentEventOf, CallRequest, EndStatus, Outcome, RunKey } from './events.ts'
import type { Usage } from './messages.ts'
import { textOf } from './messages.ts'

export interface RunInput {
  readonly agentId: AgentId
  readonly run: number
}

/**
 * How far the review of a run's work is: not meant to be, still to come (`deferrable`: behind the end, if the run is in
 * the background then), going on, given up because somebody does not want to wait for it, or recorded.
 */
export type ReviewStage = 'none' | 'wanted' | 'deferrable' | 'asked' | 'skipped' | 'done'

/** Whether the run has agreed to stop, and what its report is then: what it said last, or the reason that it gave. */
export type Parting = 'none' | 'lastText' | 'reason'

export interface RunContext {
  readonly agentId: AgentId
  readonly run: number
  readonly maxTurns: number | undefined
  /** Where it goes on when a stop hook sends it back to work: the region of its placement is left while it settles. */
  readonly isInBackground: boolean
  /** It ends although agents of its run on in the background. */
  readonly leavesChildren: boolean
  /** Runs in the background whose ends it has not been told. */
  readonly owed: readonly RunKey[]
  /** Ids of messages that were accepted and are not in the conversation yet. */
  readonly mail: readonly string[]
  /** Model replies so far. */
  readonly turns: number
  readonly toolUses: number
  /** Calls of the current turn without a result, in the order of the reply. */
  readonly calls: readonly OpenCall[]
  /** There was no summary to be had in this run: it is not asked for again. */
  readonly cannotCompact: boolean
  /** The running time is used up. */
  readonly isOutOfTime: boolean
  /** Requests for a better report that are left. */
  readonly corrections: number
  /** How often stop hooks have sent this run back to work. */
  readonly stopBlocks: number
  /** The report must satisfy a schema. */
  readonly hasReportSchema: boolean
  readonly review: ReviewStage
  /** Once it has agreed, no request follows; only a stop hook that sends it back to work undoes that. */
  readonly parting: Parting
  /** Position of the last reply with text: the report, if the run ended now. */
  readonly report: number | undefined
  readonly usage: Usage
  readonly totalUsage: Usage
  readonly denials: Readonly<Record<string, number>>
  /** Set once, when settling begins. */
  readonly outcome: Outcome | undefined
}

/** Nothing used. */
export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0 }

/** Must stay trivial and total: XState's pure `transition` calls it with no input at all. */
export function initialContext({ input }: { input: RunInput | undefined }): RunContext {
  return {
    agentId: input?.agentId ?? ('' as AgentId),
    run: input?.run ?? 0,
    maxTurns: undefined,
    isInBackground: false,
    leavesChildren: false,
    owed: [],
    mail: [],
    turns: 0,
    toolUses: 0,
    calls: [],
    cannotCompact: false,
    isOutOfTime: false,
    corrections: 0,
    stopBlocks: 0,
    hasReportSchema: false,
    review: 'none',
    parting: 'none',
    report: undefined,
    usage: NO_USAGE,
    totalUsage: NO_USAGE,
    denials: {},
    outcome: undefined,
  }
}

/** The status that an outcome means. A limit, a cut reply and an empty report are ways of completing. */
export function statusOf(outcome: Outcome): EndStatus {
  switch (outcome.kind) {
    case 'completed':
    case 'limit':
    case 'partial':
    case 'no_report':
    case 'invalid_report':
      return 'completed'
    case 'failed':
      return 'failed'
    case 'killed':
      return 'killed'
  }
}

/** Whether the run has said something that can be its report. */
export function hasReport({ report, parting }: Pick<RunContext, 'report' | 'parting'>): boolean {
  return report !== undefined || parting === 'reason'
}

/** Whether another turn may make its report better. */
export function mayBeCorrected({
  corrections,
  parting,
}: Pick<RunContext, 'corrections' | 'parting'>): boolean {
  return corrections > 0 && parting === 'none'
}

/** Whether the run has something to hand in: it completed, in whatever way, and has said something. */
function handsIn(context: Pick<RunContext, 'outcome' | 'report' | 'parting'>): boolean {
  const { outcome } = context
  return outcome !== undefined && statusOf(outcome) === 'completed' && hasReport(context)
}

/** What decides when the work of a run is reviewed. */
type Reviewed = Pick<RunContext, 'outcome' | 'report' | 'parting' | 'review' | 'isInBackground'>

/** Whether the run ends before its review: that is made when the end is first handed on. */
export function defersReview(context: Reviewed): boolean {
  return context.review === 'deferrable' && context.isInBackground && handsIn(context)
}

/** Whether the run must not end before its review is recorded. */
export function owesReview(context: Reviewed): boolean {
  const { review } = context
  return review !== 'none' && review !== 'done' && handsIn(context) && !defersReview(context)
}

/** Whether the review is to begin: it was neither begun nor given up before. */
export function mayBeReviewed(context: Reviewed): boolean {
  return (context.review === 'wanted' || context.review === 'deferrable') && owesReview(context)
}

/**
 * Whether an event is the end that the run has come to: its status is that of the recorded outcome, every call has a
 * result, and no review has to come first; one that comes behind it is announced.
 */
export function isEndOf(
  context: RunContext,
  event: { readonly type: string; readonly status?: unknown; readonly review?: unknown },
  status: EndStatus,
): boolean {
  return (
    event.type === 'agent.ended' &&
    event.status === status &&
    context.outcome !== undefined &&
    statusOf(context.outcome) === status &&
    context.calls.length === 0 &&
    !owesReview(context) &&
    (event.review === 'owed') === defersReview(context)
  )
}

/** Whether the agent came to this end by itself and could go on: not by a limit, a failure or a kill. */
export function hasChoice({ kind }: Outcome): boolean {
  return kind === 'completed' || kind === 'partial' || kind === 'no_report' || kind === 'invalid_report'
}

/** The last event of a run, from what it remembers. Only the duration comes from outside. */
export function endOf(context: RunContext, durationMs: number): AgentEventOf<'agent.ended'> {
  const outcome: Outcome = context.outcome ?? {
    kind: 'failed',
    fault: { code: 'ended-without-outcome', message: 'the run ended without an outcome', retryable: false },
  }
  return {
    type: 'agent.ended',
    run: context.run,
    status: statusOf(outcome),
    outcome,
    turns: context.turns,
    toolUses: context.toolUses,
    usage: context.usage,
    totalUsage: context.totalUsage,
    durationMs,
    ...(Object.keys(context.denials).length > 0 && { denials: { ...context.denials } }),
    ...(defersReview(context) && { review: 'owed' as const }),
  }
}

/** What a reply changes, whatever state follows. */
export function afterReply(
  context: RunContext,
  event: AgentEventOf<'reply.received'>,
): Pick<RunContext, 'turns' | 'usage' | 'totalUsage' | 'report' | 'calls' | 'toolUses'> {
  return {
    turns: context.turns + 1,
    toolUses: context.toolUses + event.calls.length,
    usage: event.reply.usage,
    totalUsage: addUsage(context.totalUsage, event.reply.usage),
    report: textOf(event.reply.content) !== '' ? event.seq : context.report,
    calls: event.calls.map(waiting),
  }
}

/** What the end of a call changes of whether the run goes on. */
export function afterAnswer(
  { parting }: RunContext,
  { answers }: AgentEventOf<'call.ended'>,
): Pick<RunContext, 'parting'> {
  if (answers?.approve !== true) return { parting }
  return { parting: answers.reason === undefined ? 'lastText' : 'reason' }
}

/** What a request to the classifier changes: it is a request of the run, but not its last one. */
export function afterClassifier(
  context: RunContext,
  usage: Usage | undefined,
): Pick<RunContext, 'totalUsage'> {
  return { totalUsage: usage === undefined ? context.totalUsage : addUsage(context.totalUsage, usage) }
}

/** What requests beside the turns have cost. */
export function afterSideRequests(
  { totalUsage }: RunContext,
  modelUsage: Readonly<Record<string, Usage>> | undefined,
): Pick<RunContext, 'totalUsage'> {
  return { totalUsage: Object.values(modelUsage ?? {}).reduce(addUsage, totalUsage) }
}

const waiting = (call: CallRequest): OpenCall => ({
  callId: call.callId,
  name: call.name,
  concurrencySafe: call.concurrencySafe,
  phase: 'waiting',
})

/**
 * Sums the four counts that every server reports; other fields of a usage cannot be added and are left out. Counts
 * of the cache are there only where there are any.
 */
export function addUsage(a: Usage, b: Usage): Usage {
  const created = (a.cache_creation_input_tokens ?? 0) + (b.cache_creation_input_tokens ?? 0)
  const read = (a.cache_read_input_tokens ?? 0) + (b.cache_read_input_tokens ?? 0)
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    ...(created > 0 && { cache_creation_input_tokens: created }),
    ...(read > 0 && { cache_read_input_tokens: read }),
  }
}
