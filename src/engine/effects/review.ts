/**
 * The review of a run's work, before anybody reads its report: the last step before its end.
 *
 *   W1  The verdict and the end are one batch: there is no end without the verdict that it waited for.
 *   W2  A resume makes an interrupted review again, and one that is recorded not.
 *   W3  A review never keeps a run: what goes wrong with it is a verdict, too (`unavailable`).
 *   W4  A run in the background can be prepared to end first and to owe its review: see `owed-reviews.ts`.
 */
import { handoffQuestion } from '../../definitions/review/question.ts'
import { unavailable } from '../../definitions/review/verdict.ts'
import type { Judgement } from '../../effects/review/ask-classifier.ts'
import type { RunContext } from '../../machines/agent/context.ts'
import { afterClassifier, endOf, mayBeReviewed } from '../../machines/agent/context.ts'
import type { EffectInput } from '../../machines/agent/effects.ts'
import type { EventDraft } from '../../machines/agent/events.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import { messageOf } from '../errors.ts'
import { modeInForce } from '../permission.ts'
import { classify } from '../review/classify.ts'
import { entriesOfRun, promptOf, stepsOf } from '../review/material.ts'
import { withWorktree } from '../worktree/settle-worktree.ts'
import { Suspended } from './suspended.ts'

export function review(core: EngineCore): Effect<EffectInput> {
  return async ({ agent, signal }) => {
    const context = agent.run?.snapshot.context
    if (context === undefined) return []
    const durationMs = Math.round(agent.elapsedMs)
    if (context.review !== 'asked') return lastSteps(core, agent, context, durationMs)
    return withReview(core, agent, context, await judge(core, agent, signal), durationMs)
  }
}

/** Whether a run that is prepared now is to be reviewed: that of a child, where `auto` is in force. */
export const isReviewed = (core: EngineCore, agent: Agent): boolean =>
  agent.parent !== undefined && modeInForce(core, agent) === 'auto'

/**
 * What a run that is at rest comes to: its end, with what is kept of its worktree, or the review before it.
 * `durationMs`: of the run, without its stop hooks.
 */
export async function lastSteps(
  core: EngineCore,
  agent: Agent,
  context: RunContext,
  durationMs: number,
): Promise<readonly EventDraft[]> {
  if (context.review === 'skipped') {
    const verdict = unavailable('stopped', 'the run was stopped, and nobody waited for the review')
    return withReview(core, agent, context, { verdict, durationMs: 0 }, durationMs)
  }
  if (mayBeReviewed(context)) return [{ type: 'review.requested' }]
  return [await withWorktree(core, agent, endOf(context, durationMs))]
}

async function withReview(
  core: EngineCore,
  agent: Agent,
  context: RunContext,
  judgement: Judgement,
  durationMs: number,
): Promise<readonly EventDraft[]> {
  const reviewed = { ...context, ...afterClassifier(context, judgement.usage) }
  return [
    { type: 'review.ended', ...judgement },
    await withWorktree(core, agent, endOf(reviewed, durationMs)),
  ]
}

/** What the classifier says of the last run of an agent. Rejects when it is stopped only. */
export async function judge(core: EngineCore, agent: Agent, signal: AbortSignal): Promise<Judgement> {
  try {
    return await judgeWork(core, agent, signal)
  } catch (error) {
    if (error instanceof Suspended || signal.aborted) throw error
    // A fault would leave the run here for ever: it has its outcome, and nothing else would end it.
    return { verdict: unavailable('error', messageOf(error)), durationMs: 0 }
  }
}

async function judgeWork(core: EngineCore, agent: Agent, signal: AbortSignal): Promise<Judgement> {
  const entries = entriesOfRun(await agent.conversation.load())
  return classify(
    core,
    agent,
    (userWords) =>
      handoffQuestion({
        agentType: agent.birth.plan.agentType,
        userWords,
        task: promptOf(entries)?.text ?? '',
        steps: stepsOf(entries),
        report: agent.digest.reportText,
      }),
    signal,
  )
}
