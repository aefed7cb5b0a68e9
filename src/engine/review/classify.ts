/** Asks the classifier on behalf of an agent. */
import type { Question } from '../../definitions/review/question.ts'
import { unavailable } from '../../definitions/review/verdict.ts'
import type { Judgement } from '../../effects/review/ask-classifier.ts'
import { askClassifier } from '../../effects/review/ask-classifier.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import { messageOf } from '../errors.ts'
import { userWordsOf } from './material.ts'

/** The judgement on a question that is made with the user's words. Rejects only with the reason of the signal. */
export async function classify(
  core: EngineCore,
  agent: Agent,
  questionWith: (userWords: readonly string[]) => Question,
  signal: AbortSignal,
): Promise<Judgement> {
  const question = await readyQuestion(agent, questionWith)
  if (typeof question === 'string') return { verdict: unavailable('error', question), durationMs: 0 }
  const { modelId, timeoutMs } = core.review
  const judgement = await askClassifier(
    { model: core.model, modelId, clock: core.clock, timeoutMs },
    question,
    signal,
  )
  agent.addApiTime(judgement.durationMs)
  return judgement
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
