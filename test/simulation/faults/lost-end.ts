import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const LOST_END: Fault = {
  name: 'lost-end',
  law: 0,
  text: 'The end of a child is not told to who waits for it.',
  within: 100,
  breakIt: () =>
    replaceMethod(Agent.prototype, 'nextEnd', (nextEnd) => {
      return function (this: Agent) {
        return this.parent === undefined ? nextEnd.call(this) : new Promise(() => {})
      }
    }),
}
