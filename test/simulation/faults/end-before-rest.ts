import { EffectScope } from '../../../src/engine/effect-scope.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const END_BEFORE_REST: Fault = {
  name: 'end-before-rest',
  law: 9,
  text: 'A run ends without waiting for what it has started.',
  within: 200,
  scenario: 'kills',
  breakIt: () => replaceMethod(EffectScope.prototype, 'settled', () => () => Promise.resolve()),
}
