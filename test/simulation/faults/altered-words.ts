import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const ALTERED_WORDS: Fault = {
  name: 'altered-words',
  law: 7,
  text: 'A message arrives in other words than it was sent in.',
  within: 20,
  scenario: 'messages',
  breakIt: () =>
    replaceMethod(Agent.prototype, 'post', (post) => {
      return function (this: Agent, ...drafts) {
        const altered = drafts.map((draft) =>
          draft.type === 'message.accepted' ? { ...draft, content: 'something was said' } : draft,
        )
        return post.call(this, ...altered)
      }
    }),
}
