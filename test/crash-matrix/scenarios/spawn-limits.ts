import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, put } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'spawn-limits',
  about: 'The third child of two is refused, and so is one that is too deep; a crash makes no more room.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([agent('first'), agent('second'), agent('third')]),
      callMany([act('root'), agent('fourth')]),
      say('the end'),
    ],
    first: [callMany([put('first', { ms: 10 })]), say('report of the first')],
    second: [callMany([agent('too deep')]), say('report of the second')],
  },
  ends: { 'the root': 'completed', first: 'completed', second: 'completed' },
  outcomes: { 'Agent third': 'error', 'Agent fourth': 'error', 'Agent too deep': 'denied' },
  options: { limits: { spawns: 2, depth: 1 } },
}
