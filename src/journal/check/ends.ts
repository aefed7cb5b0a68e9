/** Law 4: an end says what its events say, and leaves no call open. */
import { isDeepStrictEqual } from 'node:util'
import { addUsage, endOf, NO_USAGE, owesReview } from '../../machines/agent/context.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import { isActive } from '../../machines/agent/fold.ts'
import type { Law } from './law.ts'

/** The numbers of an end against the run that it ends, and that the review which it owes comes once, before the next run. */
export function endsLaw(): Law {
  let isReviewOwed = false
  return {
    name: 'ends',
    see: ({ recorded: { event }, before: { run } }) => {
      if (event.type === 'run.started' && isReviewOwed)
        return 'it begins before the review that the last end owes'
      if (event.type === 'review.ended' && run !== undefined && !isActive(run)) {
        if (!isReviewOwed) return 'the review that its end owes is recorded already'
        isReviewOwed = false
      }
      if (event.type !== 'agent.ended' || run === undefined) return undefined
      isReviewOwed = event.review === 'owed'
      const folded = endOf(run.context, event.durationMs)
      for (const key of ['run', 'status', 'turns', 'toolUses', 'review'] as const) {
        if (event[key] !== folded[key])
          return `its end says ${key} ${event[key]}, its events say ${folded[key]}`
      }
      const said = comparable(event)
      const meant = comparable(folded)
      for (const key of ['outcome', 'denials', 'usage', 'totalUsage'] as const) {
        if (!isDeepStrictEqual(said[key], meant[key])) {
          return `its end says ${key} ${JSON.stringify(said[key])}, its events say ${JSON.stringify(meant[key])}`
        }
      }
      if (owesReview(run.context)) return 'it ends without the review that it was prepared for'
      const [open] = run.context.calls
      return open === undefined ? undefined : `it ends while call ${open.callId} (${open.name}) has no result`
    },
  }
}

/** The sums that every version writes alike: a count that is 0 may stand there or not. */
function comparable({ outcome, denials, usage, totalUsage }: AgentEventOf<'agent.ended'>) {
  return { outcome, denials, usage: addUsage(usage, NO_USAGE), totalUsage: addUsage(totalUsage, NO_USAGE) }
}
