import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, LONG_MS, look, put } from '../scenario.ts'

const long = { ms: LONG_MS, beside: true }

export const scenario: Scenario = {
  name: 'long-tool',
  about: 'Bodies take a minute, while quick ones and a child beside them come and go.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([act('long', long), look('quick', { beside: true }), agent('the child'), put('long', long)]),
      callMany([look('long', { ms: LONG_MS })]),
      say('the end'),
    ],
    'the child': [
      callMany([look('child', { ms: 10 }), act('child', { ms: LONG_MS })]),
      callMany([put('child', { ms: 2 * LONG_MS })]),
      say('the report'),
    ],
  },
  ends: { 'the root': 'completed', 'the child': 'completed' },
}
