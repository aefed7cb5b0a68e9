import { AgentNews } from '../../../src/engine/agent-news.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const UNCLAIMED_END: Fault = {
  name: 'unclaimed-end',
  law: 7,
  text: 'An end that an agent has asked for is not told it by that, so that it comes as a notice, too.',
  within: 40,
  scenario: 'messages',
  breakIt: () => replaceMethod(AgentNews.prototype, 'claimsEnd', () => () => false),
}
