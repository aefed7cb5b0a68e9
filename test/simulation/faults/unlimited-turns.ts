import { Session } from '../../../src/engine/session.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const UNLIMITED_TURNS: Fault = {
  name: 'unlimited-turns',
  law: 8,
  text: 'The limit of turns gets lost between the plan of a child and its run.',
  within: 50,
  breakIt: () =>
    replaceMethod(Session.prototype, 'startRun', (startRun) => {
      return function (this: Session, agent, content, birth, { maxTurns: _, ...options } = {}) {
        return startRun.call(this, agent, content, birth, options)
      }
    }),
}
