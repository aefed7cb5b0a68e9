/** Asks the classifier on behalf of an agent. */
import type { Question } from '../../definitions/review/question.ts'
import { unavailable } from '../../definitions/review/verdict.ts'
import type { Judgement } from '../../effects/review/ask-classifier.ts'
import {
  askClassifier,
  CLASSIFIER_REPLY_TOKENS,
  classifierInputTokens,
} from '../../effects/review/ask-classifier.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import { messageOf } from '../errors.ts'
import { userWordsOf } from './material.ts'

/** What the hold of a review is called in the budget; that of a call by its id. */
export const REVIEW = 'review'

/**
 * The judgement on a question that is made with the user's words. It is admitted by the session's budget as any other
 * request; where there is no room, that is a verdict (`unavailable`, `budget`). What it cost is held there until the
 * agent's log has it: whoever writes the event releases it. Rejects only with the reason of the signal.
 */
export async function classify(
  core: EngineCore,
  agent: Agent,
  questionWith: (userWords: readonly string[]) => Question,
  signal: AbortSignal,
  about: string = REVIEW,
): Promise<Judgement> {
  const question = await readyQuestion(agent, questionWith)
  if (typeof question === 'string') return { verdict: unavailable('error', question), durationMs: 0 }
  const { modelId, timeoutMs } = core.review
  const refusal = await refusalOf(core, agent, question, signal, about)
  if (refusal !== undefined) return { verdict: unavailable('budget', refusal), durationMs: 0 }
  const { budget } = agent.session
  let judgement: Judgement | undefined
  try {
    judgement = await askClassifier(
      { model: core.model, modelId, clock: core.clock, timeoutMs },
      question,
      signal,
    )
  } finally {
    const { model, usage } = judgement ?? {}
    if (usage === undefined) budget.release(agent.id, about)
    else budget.answered(agent, about, model ?? modelId, usage)
  }
  agent.notes.addApiTime(judgement.durationMs)
  return judgement
}

/** Why the classifier may not be asked, by the budgets of the agent and of those above it; undefined when it may. */
async function refusalOf(
  core: EngineCore,
  agent: Agent,
  question: Question,
  signal: AbortSignal,
  about: string,
): Promise<string | undefined> {
  const { budget } = agent.session
  if (!budget.limits(agent)) return undefined
  const { modelId } = core.review
  const ask = {
    inputTokens: classifierInputTokens(question),
    maxTokens: CLASSIFIER_REPLY_TOKENS,
    leastTokens: CLASSIFIER_REPLY_TOKENS,
    price: core.modelFacts(modelId),
  }
  const admitted = await budget.admit(agent, ask, modelId, signal, about)
  return admitted.kind === 'granted'
    ? undefined
    : `the limit of ${admitted.event.limit} leaves no room for a request to the classifier`
}

/** The question, or why there is none: without the user's words nobody can say what was authorised. */
async function readyQuestion(
  agent: Agent,
  questionWith: (userWords: readonly string[]) => Question,
): Promise<Question | string> {
  try {
    return questionWith(await userWordsOf(agent))
  } catch (error) {
    return `the words of the user could not be read: ${messageOf(error)}`
  }
}
