import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const FORGOTTEN_NOTICE: Fault = {
  name: 'forgotten-notice',
  law: 7,
  text: 'The result of an `Agent` call does not say which end it delivers.',
  within: 50,
  breakIt: () =>
    replaceMethod(Agent.prototype, 'post', (post) => {
      return function (this: Agent, ...drafts) {
        const without = drafts.map((draft) => {
          if (draft.type !== 'call.ended') return draft
          const { delivered: _, ...rest } = draft
          return rest
        })
        return post.call(this, ...without)
      }
    }),
}
