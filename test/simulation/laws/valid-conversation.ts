import { isDeepStrictEqual } from 'node:util'
import { requestViolations } from '../../../src/journal/projections/validate-request.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { logOfRequest, messagesOf } from './lookups.ts'

/** Law 5. */
export const VALID_CONVERSATION: Law = {
  number: 5,
  name: 'valid conversation',
  text: 'Every request to a model is well formed, whatever is in the log. The log stays as it was written; a pure function makes the request from it.',
  holdsOverDamage: true,
  watch: ({ disk }, broken) => ({
    onRequest: ({ agent, turn, request, isSummary }) => {
      const log = logOfRequest(disk.logs, agent)
      const last = eventsOf(log, 'reply.received').at(-1)
      const paused = last?.reply.stop_reason === 'pause_turn'
      const violations = requestViolations(request.messages, { paused })
      if (violations.length > 0) broken(`turn ${turn} of ${agent}: ${violations.join('; ')}`)
      if (log === undefined) broken(`a request of ${agent} has no prompt that is in a log`)
      else if (!isSummary && !isDeepStrictEqual(messagesOf(disk.logs, log, request.model), request.messages))
        broken(`turn ${turn} of ${agent} is asked with other messages than its log has`)
      if (request.system.trim() === '') broken(`turn ${turn} of ${agent} has no system prompt`)
    },
  }),
}
