import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const WRITTEN_BASE: Fault = {
  name: 'written-base',
  law: 10,
  text: 'A branch goes on in the log of its base.',
  within: 20,
  scenario: 'branches',
  breakIt: () =>
    replaceMethod(Agent.prototype, 'apply', (apply) => {
      return function (this: Agent, recorded) {
        apply.call(this, recorded)
        const { event } = recorded
        if (event.type === 'agent.spawned' && event.base !== undefined)
          Object.defineProperty(this, 'logPath', { value: event.base.path })
      }
    }),
}
