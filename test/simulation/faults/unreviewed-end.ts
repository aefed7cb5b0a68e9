import { SessionEnds } from '../../../src/engine/ends.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const UNREVIEWED_END: Fault = {
  name: 'unreviewed-end',
  law: 7,
  text: 'The end of a run is told although its work has yet to be reviewed.',
  within: 20,
  scenario: 'deferred-reviews',
  breakIt: () =>
    replaceMethod(SessionEnds.prototype, 'stateOf', (stateOf) => {
      return async function (this: SessionEnds, key) {
        const state = await stateOf.call(this, key)
        return state.kind === 'unreviewed' ? { ...state, kind: 'ended' } : state
      }
    }),
}
