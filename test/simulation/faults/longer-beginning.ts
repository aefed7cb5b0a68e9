import { LazyConversation } from '../../../src/engine/lazy-conversation.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const LONGER_BEGINNING: Fault = {
  name: 'longer-beginning',
  law: 5,
  text: 'The reply that made the call is inherited with its calls, answered or not.',
  within: 20,
  scenario: 'forks',
  breakIt: () =>
    replaceMethod(LazyConversation.prototype, 'onto', (onto) => {
      return function (this: LazyConversation, readBeginning) {
        return onto.call(this, async () => {
          const beginning = await readBeginning()
          const from = beginning.forkedFrom
          const reply = from?.conversation.at(from.length)
          if (from === undefined || reply === undefined) return beginning
          const longer = from.conversation.fork(from.length)
          longer.push(reply)
          return longer
        })
      }
    }),
}
