import { AgentRequests } from '../../../src/engine/agent-requests.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const SECOND_SUMMARY: Fault = {
  name: 'second-summary',
  law: 5,
  text: 'A summary is put in front of a conversation that has it already.',
  within: 60,
  scenario: 'compaction',
  breakIt: () =>
    replaceMethod(AgentRequests.prototype, 'messages', (requestMessages) => {
      return async function (this: AgentRequests, model) {
        const [first, ...rest] = await requestMessages.call(this, model)
        if (first === undefined || typeof first.content === 'string') return first ? [first, ...rest] : rest
        const summary = first.content.filter(({ text }) => String(text).startsWith('<conversation-summary>'))
        return [{ ...first, content: [...summary, ...first.content] }, ...rest]
      }
    }),
}
