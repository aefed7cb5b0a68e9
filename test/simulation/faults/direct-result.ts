import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const DIRECT_RESULT: Fault = {
  name: 'direct-result',
  law: 2,
  text: 'A failed request is sent to the machine directly, past the mailbox and the log.',
  within: 300,
  scenario: 'wild',
  breakIt: () =>
    replaceMethod(Agent.prototype, 'post', (post) => {
      return function (this: Agent, ...drafts) {
        const [first] = drafts
        if (first?.type !== 'request.failed') return post.call(this, ...drafts)
        this.run?.apply(first)
        return Promise.resolve('taken' as const)
      }
    }),
}
