import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look, put } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'one-child',
  about: 'A root delegates once, and its child uses a tool of every rule.',
  prompts: ['the root'],
  play: {
    'the root': [callMany([agent('the child')], 'I delegate'), callMany([act('root')]), say('the end')],
    'the child': [callMany([look('child'), put('child')]), callMany([act('child')]), say('the report')],
  },
  ends: { 'the root': 'completed', 'the child': 'completed' },
}
