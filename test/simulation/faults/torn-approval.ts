import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const TORN_APPROVAL: Fault = {
  name: 'torn-approval',
  law: 6,
  text: 'An approved plan is in the log without the mode that follows from it.',
  within: 20,
  scenario: 'plans',
  breakIt: () =>
    replaceMethod(Agent.prototype, 'postChain', (post) => {
      return function (this: Agent, ...drafts) {
        return post.call(this, ...drafts.filter(({ type }) => type !== 'mode.changed'))
      }
    }),
}
