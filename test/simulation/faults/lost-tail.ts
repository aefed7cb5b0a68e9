import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const LOST_TAIL: Fault = {
  name: 'lost-tail',
  law: 5,
  text: 'A summary takes the place of everything in front of it, also of a prompt that it knows nothing of.',
  within: 60,
  scenario: 'compaction',
  breakIt: () =>
    replaceMethod(Agent.prototype, 'post', (post) => {
      return function (this: Agent, ...drafts) {
        const greedy = drafts.map((draft) =>
          draft.type === 'conversation.compacted' ? { ...draft, upTo: Number.MAX_SAFE_INTEGER } : draft,
        )
        return post.call(this, ...greedy)
      }
    }),
}
