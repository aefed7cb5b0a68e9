import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, inBackground, put } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'left-children',
  about: 'The root does not wait: each end, or two of one moment, wakes it for its next run.',
  prompts: ['the root'],
  play: {
    'the root': [callMany([inBackground('a'), inBackground('b'), inBackground('c')]), say('I am off')],
    a: [callMany([act('a', { ms: 10 })]), say('report of a')],
    b: [callMany([act('b', { ms: 50 })]), say('report of b')],
    c: [callMany([put('c', { ms: 50 })]), say('report of c')],
    'news of a': [say('so that is a')],
    'news of b': [say('so that is b')],
    'news of c': [say('so that is c')],
    'news of a, b': [say('two')],
    'news of a, c': [say('two')],
    'news of b, c': [say('two')],
    'news of a, b, c': [say('all')],
  },
  ends: {
    'the root': 'completed',
    a: 'completed',
    b: 'completed',
    c: 'completed',
    'news of a': 'completed',
    'news of b': 'completed',
    'news of c': 'completed',
    'news of a, b': 'completed',
    'news of a, c': 'completed',
    'news of b, c': 'completed',
    'news of a, b, c': 'completed',
  },
  mayBeAsked: [
    'news of a',
    'news of b',
    'news of c',
    'news of a, b',
    'news of a, c',
    'news of b, c',
    'news of a, b, c',
  ],
  isInBackground: true,
  leavesChildren: true,
}
