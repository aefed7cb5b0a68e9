/**
 * Which event is taken in which phase of a run: one table, tested against the machine.
 *
 * Neither XState's `can()` nor «same snapshot as before» answers this: a taken event may change nothing, and
 * an event with a failing guard looks like one that nobody knows. The mailbox asks here before it writes.
 */
import { hasChoice, isEndOf, mayBeCorrected, mayBeReviewed } from './context.ts'
import type { RunEvent, RunEventType } from './events.ts'
import type { RunSnapshot } from './fold.ts'

/** The leaf of a run that decides what it takes. */
export type Phase =
  | 'awaitingPrompt'
  | 'preparing'
  | 'requesting'
  | 'compacting'
  | 'acting'
  | 'checking'
  | 'waiting'
  | 'draining'
  | 'stopping'
  | 'reviewing'
  | 'completed'
  | 'failed'
  | 'killed'

const END_STATUSES = ['completed', 'failed', 'killed'] as const

const BEFORE_SETTLING = [
  'awaitingPrompt',
  'preparing',
  'requesting',
  'compacting',
  'acting',
  'checking',
  'waiting',
] as const

const SETTLING = ['draining', 'stopping', 'reviewing'] as const

const LIVE = [...BEFORE_SETTLING, ...SETTLING] as const

export const ACCEPTED: Readonly<Record<RunEventType, readonly Phase[]>> = {
  'run.started': ['awaitingPrompt'],
  'agent.prepared': ['preparing'],
  'reply.received': ['requesting'],
  'request.failed': ['requesting'],
  'budget.refused': ['requesting', 'compacting'],
  'model.changed': ['requesting'],
  'context.exceeded': ['requesting'],
  'results.cut': ['requesting'],
  'conversation.compacted': ['compacting'],
  'compaction.failed': ['compacting'],
  'call.started': ['acting'],
  'call.classified': ['acting'],
  'approval.requested': ['acting'],
  'approval.answered': ['acting'],
  'question.asked': ['acting'],
  'question.answered': ['acting'],
  'process.started': ['acting', 'draining', 'stopping'],
  'call.ended': ['acting', 'draining', 'stopping'],
  'run.drained': ['draining'],
  'stop.blocked': ['stopping'],
  'review.requested': ['draining', 'stopping'],
  'review.ended': ['draining', 'reviewing'],
  'kill.requested': [...BEFORE_SETTLING, 'stopping', 'reviewing'],
  'report.accepted': ['checking'],
  'report.rejected': ['checking'],
  'agent.faulted': LIVE,
  'agent.backgrounded': ['requesting', 'compacting', 'acting', 'checking', 'waiting'],
  'agent.ended': SETTLING,
  'message.added': LIVE,
  // Before it settles: whoever comes later starts the next run.
  'message.accepted': BEFORE_SETTLING,
  'child.launched': LIVE,
  'child.released': LIVE,
  'agent.diagnosed': LIVE,
  'permission.granted': LIVE,
  'mode.changed': LIVE,
  'servers.requested': LIVE,
  'server.started': LIVE,
  'budget.warned': LIVE,
  'progress.summarised': LIVE,
  'name.registered': LIVE,
  'time.expired': LIVE,
  'hook.started': LIVE,
  'hook.process_started': LIVE,
  'hook.ended': LIVE,
  'worktree.requested': LIVE,
  'worktree.created': LIVE,
  'worktree.decided': LIVE,
  'worktree.removed': LIVE,
  'worktree.left': LIVE,
  'run.suspended': LIVE,
  'run.resumed': LIVE,
}

/** The phase of a run. */
export function phaseOf({ value }: Pick<RunSnapshot, 'value'>): Phase {
  if (typeof value === 'string') return value
  if ('resolving' in value) return value.resolving
  if ('settling' in value) return value.settling
  // `deciding` is left in the same step that enters it, so a settled snapshot is never in it.
  const turn = value.running.turn
  return turn === 'deciding' ? 'requesting' : turn
}

/** Whether a run has neither ended nor come to its outcome: what is left to do may still be its own. */
export function isBeforeSettling(run: RunSnapshot): boolean {
  const phase: Phase = phaseOf(run)
  return BEFORE_SETTLING.some((before) => before === phase)
}

/**
 * Whether the run takes the event: its phase does, an event about a call is about an open one, only a call whose turn
 * has come can start, and the end is the one that the run has come to.
 */
export function accepts(
  run: RunSnapshot,
  event: Pick<RunEvent, 'type'> & {
    readonly callId?: unknown
    readonly status?: unknown
    readonly review?: unknown
  },
): boolean {
  const phase = phaseOf(run)
  if (!ACCEPTED[event.type].includes(phase)) return false
  switch (event.type) {
    case 'call.started':
    case 'call.classified':
    case 'approval.requested':
    case 'approval.answered':
    case 'question.asked':
    case 'question.answered':
      return run.context.calls.some((call) => call.callId === event.callId && call.phase !== 'waiting')
    case 'process.started':
    case 'call.ended':
      return run.context.calls.some((call) => call.callId === event.callId)
    case 'stop.blocked':
      return run.context.outcome !== undefined && hasChoice(run.context.outcome)
    case 'review.requested':
      return mayBeReviewed(run.context)
    case 'review.ended':
      return run.context.review === (phase === 'reviewing' ? 'asked' : 'skipped')
    case 'report.rejected':
      return mayBeCorrected(run.context)
    case 'agent.ended':
      return END_STATUSES.some((status) => isEndOf(run.context, event, status))
    case 'agent.backgrounded':
      return (
        typeof run.value === 'object' &&
        'running' in run.value &&
        run.value.running.placement === 'foreground'
      )
    default:
      return true
  }
}
