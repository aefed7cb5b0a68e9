import { askParentTool } from '../../../src/effects/tools/agents/ask-parent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const CROSSED_QUESTIONS: Fault = {
  name: 'crossed-questions',
  law: 7,
  text: 'Two questions to the parent are asked side by side, and one answer is taken for both.',
  within: 20,
  scenario: 'messages',
  breakIt: () => replaceMethod(askParentTool, 'isConcurrencySafe', () => () => true),
}
