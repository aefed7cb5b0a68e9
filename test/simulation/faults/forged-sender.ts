import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const FORGED_SENDER: Fault = {
  name: 'forged-sender',
  law: 7,
  text: 'A message is marked as from whoever it is sent to.',
  within: 20,
  scenario: 'messages',
  breakIt: () =>
    replaceMethod(Agent.prototype, 'post', (post) => {
      return function (this: Agent, ...drafts) {
        const forged = drafts.map((draft) =>
          draft.type === 'message.accepted'
            ? { ...draft, origin: { from: 'agent' as const, agentId: this.id } }
            : draft,
        )
        return post.call(this, ...forged)
      }
    }),
}
