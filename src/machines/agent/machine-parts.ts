/**
 * What the chart of a run is made of: its effects by name, its guards and its actions. Each reads like a sentence where
 * the chart uses it, and each is pure.
 */
import { assign, fromCallback, setup, stopChild } from 'xstate'
import { startable } from './calls.ts'
import type { RunContext, RunInput } from './context.ts'
import {
  afterAnswer,
  afterClassifier,
  afterReply,
  afterSideRequests,
  hasChoice,
  hasReport,
  isEndOf,
  mayBeCorrected,
  mayBeReviewed,
} from './context.ts'
import type { CallInput, EffectInput, EffectName } from './effects.ts'
import { callActorId } from './effects.ts'
import type { AgentEventOf, Outcome, RunEvent } from './events.ts'
import { withoutRuns } from './run-key.ts'

const effect = fromCallback<RunEvent, EffectInput>(() => {})
const callEffect = fromCallback<RunEvent, CallInput>(() => {})

/** Guards and actions that read a reply are only ever named on its transitions. */
function reply(event: RunEvent): AgentEventOf<'reply.received'> {
  if (event.type !== 'reply.received') throw new TypeError(`expected a reply, got ${event.type}`)
  return event
}

const unread = (mail: readonly string[], injected: readonly string[]): readonly string[] =>
  mail.filter((id) => !injected.includes(id))

const parts = setup({
  // Casts, because XState reads these only as types.
  types: {
    context: {} as RunContext,
    events: {} as RunEvent,
    input: {} as RunInput,
  },
  actors: {
    prepare: effect,
    requestModel: effect,
    compact: effect,
    runCall: callEffect,
    checkReport: effect,
    awaitNews: effect,
    drain: effect,
    stopHooks: effect,
    review: effect,
  } satisfies Record<EffectName, unknown>,
  guards: {
    wasRefused: ({ event }) => reply(event).reply.stop_reason === 'refusal',
    asksForCalls: ({ event }) => reply(event).calls.length > 0,
    isPaused: ({ event }) => reply(event).reply.stop_reason === 'pause_turn',
    wasCut: ({ event }) => reply(event).reply.stop_reason === 'max_tokens',
    saidNothing: ({ context, event }) => afterReply(context, reply(event)).report === undefined,
    // A schema is looked at every time, also when no correction is left: what is wrong with the report is a fact.
    needsReportCheck: ({ context, event }) =>
      context.hasReportSchema ||
      (context.corrections > 0 && afterReply(context, reply(event)).report === undefined),
    // A run that failed, was killed or reached a limit has come to its end, whatever hooks want.
    mayGoOn: ({ context }) => context.outcome !== undefined && hasChoice(context.outcome),
    mayGoOnInBackground: ({ context }) =>
      context.isInBackground && context.outcome !== undefined && hasChoice(context.outcome),
    mayReview: ({ context }) => mayBeReviewed(context),
    isUnderReview: ({ context }) => context.review === 'asked',
    hasSkippedReview: ({ context }) => context.review === 'skipped',
    mayCorrect: ({ context }) => mayBeCorrected(context),
    hasNoReport: ({ context }) => !hasReport(context),
    hasAgreedToStop: ({ context }) => context.parting !== 'none',
    hasAgreedToStopAndOwesASchema: ({ context }) => context.parting !== 'none' && context.hasReportSchema,
    hasAgreedToStopWithoutAReport: ({ context }) => context.parting !== 'none' && !hasReport(context),
    hasReachedTurnLimit: ({ context }) => context.maxTurns !== undefined && context.turns >= context.maxTurns,
    isInBackground: ({ context }) => context.isInBackground,
    isTooLong: ({ event }) => event.type === 'request.failed' && event.fault.code === 'context-exceeded',
    isOutOfTime: ({ context }) => context.isOutOfTime,
    asksForCallsTooLate: ({ context, event }) => context.isOutOfTime && reply(event).calls.length > 0,
    // Who has agreed to stop reads nothing more, and waits for nobody.
    hasMail: ({ context }) => context.mail.length > 0 && context.parting === 'none',
    waitsForChildren: ({ context }) =>
      context.owed.length > 0 && !context.leavesChildren && context.parting === 'none',
    bringsNews: ({ event }) =>
      event.type === 'message.added' && (event.tells !== undefined || event.injects !== undefined),
    isOpenCall: ({ context, event }) =>
      'callId' in event && context.calls.some((call) => call.callId === event.callId),
    isLastOpenCall: ({ context: { calls }, event }) =>
      'callId' in event && calls.length === 1 && calls[0]?.callId === event.callId,
    // Calls that run are not cut off, others are not begun.
    isLastRunningCallOutOfTime: ({ context: { calls, isOutOfTime }, event }) =>
      isOutOfTime &&
      'callId' in event &&
      calls.every((call) => (call.callId === event.callId) === (call.phase !== 'waiting')),
    // A call whose turn has not come has no effect yet; marked as started it would block the others for ever.
    isRequestedCall: ({ context, event }) =>
      'callId' in event &&
      context.calls.some((call) => call.callId === event.callId && call.phase !== 'waiting'),
    endsCompleted: ({ context, event }) => isEndOf(context, event, 'completed'),
    endsFailed: ({ context, event }) => isEndOf(context, event, 'failed'),
    endsKilled: ({ context, event }) => isEndOf(context, event, 'killed'),
  },
  actions: {
    rememberRun: assign(({ event }) =>
      event.type === 'run.started'
        ? {
            run: event.run,
            maxTurns: event.maxTurns,
            isInBackground: event.background === true,
            leavesChildren: event.leavesChildren === true,
            owed: event.owed ?? [],
          }
        : {},
    ),
    leaveForeground: assign({ isInBackground: true }),
    rememberChild: assign(({ context, event }) =>
      event.type === 'child.launched' ? { owed: [...context.owed, event.child] } : {},
    ),
    forgetChild: assign(({ context, event }) =>
      event.type === 'child.released' ? { owed: withoutRuns(context.owed, [event.child]) } : {},
    ),
    rememberMail: assign(({ context, event }) =>
      event.type === 'message.accepted' ? { mail: [...context.mail, event.messageId] } : {},
    ),
    takeNews: assign(({ context, event }) =>
      event.type === 'message.added' && (event.tells !== undefined || event.injects !== undefined)
        ? {
            owed: withoutRuns(context.owed, event.tells ?? []),
            mail: unread(context.mail, event.injects ?? []),
          }
        : {},
    ),
    rememberPreparation: assign(({ event }) =>
      event.type === 'agent.prepared'
        ? {
            ...(event.report !== undefined && {
              corrections: event.report.corrections,
              hasReportSchema: event.report.hasSchema,
            }),
            ...(event.review !== undefined && { review: event.review === true ? 'wanted' : event.review }),
          }
        : {},
    ),
    beginReview: assign({ review: 'asked' }),
    // A review that is recorded stays so; one that nobody wants, or waits for, is not given up.
    skipReview: assign(({ context }) =>
      context.review === 'wanted' || context.review === 'asked' || mayBeReviewed(context)
        ? { review: 'skipped' as const }
        : {},
    ),
    endReview: assign({ review: 'done' }),
    countClassifier: assign(({ context, event }) =>
      event.type === 'review.ended' || event.type === 'call.classified'
        ? afterClassifier(context, event.usage)
        : {},
    ),
    goOn: assign(({ context }) => ({
      outcome: undefined,
      parting: 'none' as const,
      stopBlocks: context.stopBlocks + 1,
    })),
    countCorrection: assign(({ context }) => ({ corrections: context.corrections - 1 })),
    rememberReply: assign(({ context, event }) => afterReply(context, reply(event))),
    markStarted: assign(({ context, event }) => ({
      calls: context.calls.map((call) =>
        event.type === 'call.started' && call.callId === event.callId
          ? { ...call, phase: 'started' as const }
          : call,
      ),
    })),
    forgetCall: assign(({ context, event }) => {
      if (event.type !== 'call.ended') return {}
      const ended = context.calls.find((call) => call.callId === event.callId)
      return {
        calls: context.calls.filter((call) => call !== ended),
        ...afterAnswer(context, event),
        ...(event.delivered !== undefined &&
          context.owed.length > 0 && { owed: withoutRuns(context.owed, [event.delivered]) }),
        ...(event.injects !== undefined && { mail: unread(context.mail, event.injects) }),
        ...(ended !== undefined &&
          event.outcome === 'denied' && {
            denials: { ...context.denials, [ended.name]: (context.denials[ended.name] ?? 0) + 1 },
          }),
      }
    }),
    stopCallEffect: stopChild(({ event }) => (event.type === 'call.ended' ? callActorId(event.callId) : '')),
    rememberSideUsage: assign(({ context, event }) =>
      event.type === 'conversation.compacted' ||
      event.type === 'compaction.failed' ||
      event.type === 'progress.summarised'
        ? afterSideRequests(context, event.modelUsage)
        : {},
    ),
    giveUpCompaction: assign(() => ({ cannotCompact: true })),
    rememberTimeIsUp: assign(() => ({ isOutOfTime: true })),
    recordOutcome: assign(({ context }, params: { outcome: Outcome }) => ({
      outcome: context.outcome ?? params.outcome,
    })),
  },
})

/** Starts the effects of the calls whose turn has come. */
const startCalls = parts.enqueueActions(({ context, enqueue }) => {
  const starting = context.isOutOfTime ? [] : startable(context.calls)
  if (starting.length === 0) return
  enqueue.assign({
    calls: context.calls.map((call) =>
      starting.includes(call) ? { ...call, phase: 'requested' as const } : call,
    ),
  })
  for (const call of starting) {
    enqueue.spawnChild('runCall', {
      id: callActorId(call.callId),
      input: { agentId: context.agentId, run: context.run, callId: call.callId },
    })
  }
})

/** Aborts the effects of all open calls. Spawned effects, unlike invoked ones, do not end with the state they began in. */
const stopCalls = parts.enqueueActions(({ context, enqueue }) => {
  for (const call of context.calls) {
    if (call.phase !== 'waiting') enqueue.stopChild(callActorId(call.callId))
  }
})

// Named, so that inspectors and the drawn statechart show them.
export const agentParts = parts.extend({ actions: { startCalls, stopCalls } })
