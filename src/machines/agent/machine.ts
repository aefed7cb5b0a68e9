/**
 * One run of one agent, from a message to its answer.
 *
 * Owns: which state follows which event, and which effects are wanted in which state.
 * Does not own: anything outside itself. Effects are callback actors of which this file knows only the names;
 * they never answer their parent, their outcome comes back through the log as an event of its own.
 *
 *   M1  No I/O, no clock, no randomness: the next state depends on this state and the event alone.
 *   M2  No child machines, `onDone`, `onError`, `after`, `sendTo`, `emit`, entry or exit actions: the pure
 *       `transition` would not see their results, and a replay would differ from the live run.
 *   M3  The initial state wants no effect, which keeps a fold cheap.
 *   M4  Placement is a region beside the turn: moving to the background never touches a stream or a call.
 *   M5  The first outcome stays, unless a stop hook sends the agent back to work; every way out passes through
 *       `settling`, and the end is the one that the outcome means, with no call left open.
 *   M6  A run whose work is to be reviewed does not complete with a report before the review is recorded; a kill
 *       does not wait for the reviewer. Where nobody waits for the run its end can say that the review is owed instead.
 *   M7  A run that has agreed to stop makes no further request: it completes when the calls of its turn have results. A
 *       stop hook may send it back to work as any other; then it has agreed to nothing.
 */
import type { RunContext } from './context.ts'
import { initialContext } from './context.ts'
import type { EffectInput } from './effects.ts'
import type { AgentEventOf, Fault, Outcome } from './events.ts'
import { agentParts } from './machine-parts.ts'

const ids = ({ context }: { context: RunContext }): EffectInput => ({
  agentId: context.agentId,
  run: context.run,
})

const OUT_OF_TIME: Outcome = { kind: 'limit', limit: 'time' }

const REFUSED: Fault = {
  code: 'refused',
  message: 'the model refused to answer (stop_reason "refusal")',
  retryable: false,
}

const settleAs = (outcome: Outcome) => ({ type: 'recordOutcome' as const, params: { outcome } })

/** A kill or a fault ends the run from anywhere, through settling. */
const waysOut = {
  'kill.requested': {
    target: '#agent.settling',
    actions: [
      'stopCalls',
      {
        type: 'recordOutcome' as const,
        params: ({ event }: { event: AgentEventOf<'kill.requested'> }) => ({
          outcome: {
            kind: 'killed' as const,
            by: event.by,
            ...(event.reason !== undefined && { reason: event.reason }),
            ...(event.spares !== undefined && { spares: event.spares }),
          },
        }),
      },
    ],
  },
  'agent.faulted': {
    target: '#agent.settling',
    actions: [
      'stopCalls',
      {
        type: 'recordOutcome' as const,
        params: ({ event }: { event: AgentEventOf<'agent.faulted'> }) => ({
          outcome: { kind: 'failed' as const, fault: event.fault },
        }),
      },
    ],
  },
} as const

/** A run that settles takes no messages: the next one begins with them. */
const mail = { 'message.accepted': { actions: 'rememberMail' } } as const

export const agentMachine = agentParts.createMachine({
  id: 'agent',
  context: initialContext,
  initial: 'resolving',
  // Facts about the process and the conversation, not about the run: taken in every state that can still change, and
  // change nothing.
  on: {
    'run.suspended': {},
    'run.resumed': {},
    'message.added': { actions: 'takeNews' },
    'child.launched': { actions: 'rememberChild' },
    'child.released': { actions: 'forgetChild' },
    'agent.diagnosed': {},
    'permission.granted': {},
    'mode.changed': {},
    'budget.warned': {},
    'progress.summarised': { actions: 'rememberSideUsage' },
    'name.registered': {},
    'time.expired': { actions: 'rememberTimeIsUp' },
    'servers.requested': {},
    'server.started': {},
    'hook.started': {},
    'hook.process_started': {},
    'hook.ended': {},
    'worktree.requested': {},
    'worktree.created': {},
    'worktree.decided': {},
    'worktree.removed': {},
    'worktree.left': {},
  },
  states: {
    /** Who this run is: prompt, tools, permissions. */
    resolving: {
      initial: 'awaitingPrompt',
      on: { ...waysOut, ...mail },
      states: {
        awaitingPrompt: {
          on: { 'run.started': { target: 'preparing', actions: 'rememberRun' } },
        },
        preparing: {
          invoke: { id: 'prepare', src: 'prepare', input: ids },
          on: {
            'agent.prepared': [
              {
                guard: 'isInBackground',
                target: ['#agent.running.turn', '#agent.running.placement.backgrounded'],
                actions: 'rememberPreparation',
              },
              { target: '#agent.running', actions: 'rememberPreparation' },
            ],
          },
        },
      },
    },
    running: {
      type: 'parallel',
      on: { ...waysOut, ...mail },
      states: {
        turn: {
          initial: 'requesting',
          states: {
            /** The model is answering. That it streams is a view; the state is the same until the reply is whole. */
            requesting: {
              invoke: { id: 'requestModel', src: 'requestModel', input: ids },
              on: {
                'reply.received': [
                  {
                    guard: 'wasRefused',
                    target: '#agent.settling',
                    actions: ['rememberReply', settleAs({ kind: 'failed', fault: REFUSED })],
                  },
                  {
                    guard: 'asksForCallsTooLate',
                    target: '#agent.settling',
                    actions: ['rememberReply', settleAs(OUT_OF_TIME)],
                  },
                  { guard: 'asksForCalls', target: 'acting', actions: ['rememberReply', 'startCalls'] },
                  { guard: 'isPaused', target: 'deciding', actions: 'rememberReply' },
                  { guard: 'hasMail', target: 'deciding', actions: 'rememberReply' },
                  { guard: 'waitsForChildren', target: 'waiting', actions: 'rememberReply' },
                  {
                    guard: 'wasCut',
                    target: '#agent.settling',
                    actions: ['rememberReply', settleAs({ kind: 'partial' })],
                  },
                  { guard: 'needsReportCheck', target: 'checking', actions: 'rememberReply' },
                  {
                    guard: 'saidNothing',
                    target: '#agent.settling',
                    actions: ['rememberReply', settleAs({ kind: 'no_report' })],
                  },
                  {
                    target: '#agent.settling',
                    actions: ['rememberReply', settleAs({ kind: 'completed' })],
                  },
                ],
                'budget.refused': {
                  target: '#agent.settling',
                  actions: {
                    type: 'recordOutcome',
                    params: ({ event }) => ({ outcome: { kind: 'limit', limit: event.limit } }),
                  },
                },
                'model.changed': {},
                'results.cut': {},
                'context.exceeded': 'compacting',
                'request.failed': [
                  {
                    guard: 'isTooLong',
                    target: '#agent.settling',
                    actions: {
                      type: 'recordOutcome',
                      params: ({ event }) => ({
                        outcome: { kind: 'limit', limit: 'context', problem: event.fault.message },
                      }),
                    },
                  },
                  {
                    target: '#agent.settling',
                    actions: {
                      type: 'recordOutcome',
                      params: ({ event }) => ({ outcome: { kind: 'failed', fault: event.fault } }),
                    },
                  },
                ],
              },
            },
            /** The conversation is being summed up, so that it fits into the model's context again. */
            compacting: {
              invoke: { id: 'compact', src: 'compact', input: ids },
              on: {
                'conversation.compacted': { target: 'deciding', actions: 'rememberSideUsage' },
                // It goes on as it is, until the server refuses.
                'compaction.failed': {
                  target: 'deciding',
                  actions: ['rememberSideUsage', 'giveUpCompaction'],
                },
                'budget.refused': {
                  target: '#agent.settling',
                  actions: {
                    type: 'recordOutcome',
                    params: ({ event }) => ({ outcome: { kind: 'limit', limit: event.limit } }),
                  },
                },
              },
            },
            /** The model has said its last word; is it a report? */
            checking: {
              invoke: { id: 'checkReport', src: 'checkReport', input: ids },
              on: {
                'report.rejected': { guard: 'mayCorrect', target: 'deciding', actions: 'countCorrection' },
                'report.accepted': [
                  // Somebody spoke to it while its report was looked at.
                  { guard: 'hasMail', target: 'deciding' },
                  { guard: 'waitsForChildren', target: 'waiting' },
                  {
                    guard: 'hasNoReport',
                    target: '#agent.settling',
                    actions: settleAs({ kind: 'no_report' }),
                  },
                  {
                    target: '#agent.settling',
                    actions: {
                      type: 'recordOutcome',
                      params: ({ event }) => ({
                        outcome:
                          event.problem === undefined
                            ? { kind: 'completed' }
                            : { kind: 'invalid_report', problem: event.problem },
                      }),
                    },
                  },
                ],
              },
            },
            /** The calls of the reply run; each ends with a result, whatever happens to it. */
            acting: {
              on: {
                'call.started': { guard: 'isRequestedCall', actions: 'markStarted' },
                'call.classified': { guard: 'isRequestedCall', actions: 'countClassifier' },
                'approval.requested': { guard: 'isRequestedCall' },
                'approval.answered': { guard: 'isRequestedCall' },
                'question.asked': { guard: 'isRequestedCall' },
                'question.answered': { guard: 'isRequestedCall' },
                'process.started': { guard: 'isOpenCall' },
                'call.ended': [
                  {
                    guard: 'isLastOpenCall',
                    target: 'deciding',
                    actions: ['forgetCall', 'stopCallEffect'],
                  },
                  {
                    guard: 'isLastRunningCallOutOfTime',
                    target: '#agent.settling',
                    actions: ['forgetCall', 'stopCallEffect', settleAs(OUT_OF_TIME)],
                  },
                  { guard: 'isOpenCall', actions: ['forgetCall', 'stopCallEffect', 'startCalls'] },
                ],
              },
            },
            /**
             * The model has nothing to do before an agent of its in the background ends, or somebody speaks to it. The
             * line that tells it so is its way out.
             */
            waiting: {
              invoke: { id: 'awaitNews', src: 'awaitNews', input: ids },
              always: { guard: 'isOutOfTime', target: '#agent.settling', actions: settleAs(OUT_OF_TIME) },
              on: { 'message.added': { guard: 'bringsNews', target: 'deciding', actions: 'takeNews' } },
            },
            /** Between two turns: may another one start? */
            deciding: {
              always: [
                // Its report is looked at as ever, and asked for no more.
                { guard: 'hasAgreedToStopAndOwesASchema', target: 'checking' },
                {
                  guard: 'hasAgreedToStopWithoutAReport',
                  target: '#agent.settling',
                  actions: settleAs({ kind: 'no_report' }),
                },
                {
                  guard: 'hasAgreedToStop',
                  target: '#agent.settling',
                  actions: settleAs({ kind: 'completed' }),
                },
                {
                  guard: 'hasReachedTurnLimit',
                  target: '#agent.settling',
                  actions: settleAs({ kind: 'limit', limit: 'turns' }),
                },
                { guard: 'isOutOfTime', target: '#agent.settling', actions: settleAs(OUT_OF_TIME) },
                { target: 'requesting' },
              ],
            },
          },
        },
        placement: {
          initial: 'foreground',
          states: {
            foreground: {
              on: { 'agent.backgrounded': { target: 'backgrounded', actions: 'leaveForeground' } },
            },
            backgrounded: {},
          },
        },
      },
    },
    /**
     * The outcome is recorded; now everything that the run started comes to rest. Later steps (stop hooks, handoff
     * review, worktree, output file) are states here, each an effect with its own event.
     */
    settling: {
      initial: 'draining',
      on: {
        'agent.ended': [
          { guard: 'endsCompleted', target: '#agent.completed' },
          { guard: 'endsKilled', target: '#agent.killed' },
          { guard: 'endsFailed', target: '#agent.failed' },
        ],
        'call.ended': { guard: 'isOpenCall', actions: 'forgetCall' },
        'process.started': { guard: 'isOpenCall' },
        'agent.faulted': {},
      },
      states: {
        draining: {
          invoke: { id: 'drain', src: 'drain', input: ids },
          on: {
            'run.drained': 'stopping',
            'review.requested': { guard: 'mayReview', target: 'reviewing', actions: 'beginReview' },
            // Told that it was given up; or the verdict came just as somebody lost patience.
            'review.ended': { guard: 'hasSkippedReview', actions: ['endReview', 'countClassifier'] },
          },
        },
        /** The stop hooks look at the run; they may send the agent back to work. */
        stopping: {
          invoke: { id: 'stopHooks', src: 'stopHooks', input: ids },
          on: {
            // Through the limits of a turn, as any other turn.
            'stop.blocked': [
              {
                guard: 'mayGoOnInBackground',
                target: ['#agent.running.turn.deciding', '#agent.running.placement.backgrounded'],
                actions: 'goOn',
              },
              { guard: 'mayGoOn', target: '#agent.running.turn.deciding', actions: 'goOn' },
            ],
            'review.requested': { guard: 'mayReview', target: 'reviewing', actions: 'beginReview' },
            // It cannot be killed any more, but it need not wait for them, nor for a review.
            'kill.requested': { target: 'draining', actions: 'skipReview' },
          },
        },
        /** The classifier looks at what the run did, before anybody reads its report. */
        reviewing: {
          invoke: { id: 'review', src: 'review', input: ids },
          on: {
            'review.ended': { guard: 'isUnderReview', actions: ['endReview', 'countClassifier'] },
            'kill.requested': { target: 'draining', actions: 'skipReview' },
          },
        },
      },
    },
    completed: { type: 'final' },
    failed: { type: 'final' },
    killed: { type: 'final' },
  },
})
