import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const APPLY_BEFORE_APPEND: Fault = {
  name: 'apply-before-append',
  law: 1,
  text: 'The agent sees an event while its line is still on the way to the disk.',
  within: 20,
  breakIt: (scene) =>
    replaceMethod(Agent.prototype, 'append', (append) => {
      return function (this: Agent, text) {
        scene().world.later('a line that nobody waits for', undefined, () => void append.call(this, text))
      }
    }),
}
