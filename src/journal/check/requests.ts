/** Law 5: wherever a request is due, the conversation gives one that the Messages API takes. */
import { phaseOf } from '../../machines/agent/accepts.ts'
import type { AgentState } from '../../machines/agent/fold.ts'
import { createConversation } from '../projections/conversation.ts'
import { createRequestMessages } from '../projections/request-messages.ts'
import { requestViolations } from '../projections/validate-request.ts'
import type { Law } from './law.ts'

/** Up to this many messages every request is looked at; a longer conversation whenever it has grown by a quarter. */
const EVERY_UP_TO = 64

/**
 * Keeps the conversation, the only law whose memory grows with the log. What is settled in a request stays as it is
 * (N4), so that a long conversation is looked at often enough, in time that grows with its length only.
 */
export function requestsLaw(): Law {
  const conversation = createConversation()
  const request = createRequestMessages(conversation)
  let next = 0
  return {
    name: 'requests',
    see: ({ recorded, before, after }) => {
      conversation.push(recorded)
      if (!isDue(after) || (isDue(before) && recorded.event.type !== 'reply.received')) return undefined
      if (conversation.length < next) return undefined
      const messages = request.messages()
      next = messages.length <= EVERY_UP_TO ? 0 : Math.ceil(conversation.length * 1.25)
      const paused = conversation.lastStopReason === 'pause_turn'
      const [first] = requestViolations(messages, { paused })
      return first === undefined ? undefined : `the request that is due here is not valid: ${first}`
    },
  }
}

const isDue = ({ run }: AgentState): boolean => run !== undefined && phaseOf(run) === 'requesting'
