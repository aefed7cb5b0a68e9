import { LazyConversation } from '../../../src/engine/lazy-conversation.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const FORGOTTEN_BASE: Fault = {
  name: 'forgotten-base',
  law: 5,
  text: 'A branch does not know what was said before it.',
  within: 20,
  scenario: 'branches',
  breakIt: () =>
    replaceMethod(LazyConversation.prototype, 'after', () => {
      return function (this: LazyConversation) {
        return this
      }
    }),
}
