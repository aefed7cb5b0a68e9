import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look, put } from '../scenario.ts'

const beside = (ms: number) => ({ ms, beside: true })

export const scenario: Scenario = {
  name: 'three-rules',
  about: 'Calls of all rules are in flight at once, of one turn: each is resumed by its own.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([
        look('one', beside(30)),
        act('one', beside(20)),
        put('one', beside(10)),
        agent('the child'),
        act('two', beside(40)),
        put('two', beside(50)),
      ]),
      say('the end'),
    ],
    'the child': [
      callMany([look('c', beside(15)), act('c', beside(25)), put('c', beside(35))]),
      say('the report'),
    ],
  },
  ends: { 'the root': 'completed', 'the child': 'completed' },
}
