/** The classifier of a rerun: what the log says of the review of an agent's work. */
import { taskEnvelope } from '../../definitions/review/question.ts'
import { VERDICT_TOOL } from '../../definitions/review/verdict.ts'
import type { CassetteTurn } from '../../effects/model/cassette.ts'
import type { ModelRequest } from '../../effects/model/model.ts'
import { buildReply, call } from '../../effects/model/scripted-reply.ts'
import { contentText } from '../../machines/agent/messages.ts'
import type { RecordedReview, TapeAgent } from './tape.ts'

/**
 * Answers a question about an agent's work with the verdict that was recorded for an agent of its type and task, each
 * verdict once; undefined when there is none any more.
 */
export function createRecordedVerdicts(
  agents: readonly TapeAgent[],
): (request: ModelRequest) => CassetteTurn['said'] | undefined {
  const waiting = agents.flatMap(({ birth, reviews }) =>
    reviews.map((review) => ({
      review,
      task: taskEnvelope(birth.plan.agentType, contentText(review.started.content)),
    })),
  )
  return (request) => {
    const question = request.messages.map(({ content }) => contentText(content)).join('\n')
    const at = waiting.findIndex(({ task }) => question.includes(task))
    const [found] = at < 0 ? [] : waiting.splice(at, 1)
    return found && saidBy(found.review, request)
  }
}

function saidBy({ ended: { verdict } }: RecordedReview, request: ModelRequest): CassetteTurn['said'] {
  if (verdict.kind === 'unavailable')
    return {
      kind: 'failed',
      fault: { code: 'script', message: verdict.why, retryable: false },
      attempts: 1,
    }
  const { kind, reason = '' } = verdict
  return { kind: 'reply', reply: buildReply(call(VERDICT_TOOL.name, { verdict: kind, reason }), request) }
}
