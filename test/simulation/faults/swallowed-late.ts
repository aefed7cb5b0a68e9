import { Agent } from '../../../src/engine/agent.ts'
import { type Fault, replaceMethod } from './fault.ts'

export const SWALLOWED_LATE: Fault = {
  name: 'swallowed-late',
  law: 11,
  text: 'An event that comes too late is dropped without a word.',
  within: 300,
  scenario: 'wild',
  breakIt: () => replaceMethod(Agent.prototype, 'late', () => () => {}),
}
