import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, inBackground, look, put } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'background-children',
  about:
    'Three children in the background, two of which end in the same moment; the root works on, then waits.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([inBackground('quick'), inBackground('slow'), inBackground('as slow'), look('root')]),
      callMany([act('root')]),
      say('all in good time'),
    ],
    quick: [callMany([put('quick')]), say('the quick report')],
    slow: [callMany([act('slow', { ms: 100 })]), say('the slow report')],
    'as slow': [callMany([act('as slow', { ms: 100 })]), say('another slow report')],
  },
  ends: { 'the root': 'completed', quick: 'completed', slow: 'completed', 'as slow': 'completed' },
  isInBackground: true,
}
