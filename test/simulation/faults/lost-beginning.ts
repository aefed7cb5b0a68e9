import { LazyConversation } from '../../../src/engine/lazy-conversation.ts'
import { createConversation } from '../../../src/journal/projections/conversation.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const LOST_BEGINNING: Fault = {
  name: 'lost-beginning',
  law: 5,
  text: 'The conversation of an agent that is opened from a snapshot begins behind it.',
  within: 20,
  scenario: 'snapshots',
  breakIt: () =>
    replaceMethod(LazyConversation, 'unread', () => () => LazyConversation.whole(createConversation())),
}
