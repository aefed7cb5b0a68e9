import { Session } from '../../../src/engine/session.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const FORGED_ORIGIN: Fault = {
  name: 'forged-origin',
  law: 12,
  text: 'The prompt that a child gets from its parent is marked as from the user.',
  within: 50,
  breakIt: () =>
    replaceMethod(Session.prototype, 'startRun', (startRun) => {
      return function (this: Session, agent, content, birth, { from: _, ...options } = {}) {
        return startRun.call(this, agent, content, birth, options)
      }
    }),
}
