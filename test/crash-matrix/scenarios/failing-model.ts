import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import { overloaded } from '../model.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'failing-model',
  about: 'A model stays overloaded until all retries are used up: for a child, and then for the root itself.',
  prompts: ['the first question', 'the second question'],
  play: {
    'the first question': [callMany([agent('the child'), act('root')]), say('the first answer')],
    'the child': [callMany([act('child')]), overloaded()],
    'the second question': [callMany([act('again')]), overloaded()],
  },
  ends: { 'the first question': 'completed', 'the child': 'failed', 'the second question': 'failed' },
  outcomes: { 'Agent the child': 'error' },
  options: { retries: { maxRetries: 2 } },
}
