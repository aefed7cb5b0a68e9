import { Session } from '../../../src/engine/session.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const COUNTED_ANEW: Fault = {
  name: 'counted-anew',
  law: 4,
  text: 'A branch counts its runs from 1, as if its base had had none.',
  within: 20,
  scenario: 'branches',
  breakIt: () =>
    replaceMethod(Session.prototype, 'startRun', (startRun) => {
      return function (this: Session, agent, content, birth, options) {
        if (birth?.base === undefined) return startRun.call(this, agent, content, birth, options)
        return startRun.call(this, agent, content, { ...birth, base: { ...birth.base, run: 0 } }, options)
      }
    }),
}
