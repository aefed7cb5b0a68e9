import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const LOST_SYNC: Fault = {
  name: 'lost-sync',
  law: 1,
  text: 'An append is taken for durable when it is written, before it is synced.',
  within: 20,
  breakIt: () =>
    replaceMethod(Agent.prototype, 'append', (append) => {
      return function (this: Agent, text) {
        // It fails sometimes, and nobody looks.
        void Promise.resolve(append.call(this, text)).catch(() => {})
      }
    }),
}
