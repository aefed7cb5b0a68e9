import { requestViolations } from '../../../src/journal/projections/validate-request.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { logOfRequest } from './lookups.ts'

/** Law 5. */
export const VALID_CONVERSATION: Law = {
  number: 5,
  name: 'valid conversation',
  text: 'Every request to a model is well formed, whatever is in the log.',
  watch: ({ disk }, broken) => ({
    onRequest: ({ agent, turn, request }) => {
      const last = eventsOf(logOfRequest(disk.logs, agent), 'reply.received').at(-1)
      const paused = last?.reply.stop_reason === 'pause_turn'
      const violations = requestViolations(request.messages, { paused })
      if (violations.length > 0) broken(`turn ${turn} of ${agent}: ${violations.join('; ')}`)
      if (request.system.trim() === '') broken(`turn ${turn} of ${agent} has no system prompt`)
    },
  }),
}
