import { AgentRequests } from '../../../src/engine/agent-requests.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const HALF_CONVERSATION: Fault = {
  name: 'half-conversation',
  law: 5,
  text: 'One of several results is left out of the next request.',
  within: 50,
  breakIt: () =>
    replaceMethod(AgentRequests.prototype, 'messages', (requestMessages) => {
      return async function (this: AgentRequests, model) {
        const messages = await requestMessages.call(this, model)
        const last = messages.at(-1)
        if (last === undefined || typeof last.content === 'string' || last.content.length < 2) return messages
        return [...messages.slice(0, -1), { ...last, content: last.content.slice(1) }]
      }
    }),
}
