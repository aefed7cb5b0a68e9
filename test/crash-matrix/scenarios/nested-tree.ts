import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look, put } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'nested-tree',
  about: 'Children have children of their own, three levels deep, two of them side by side.',
  prompts: ['the root'],
  play: {
    'the root': [callMany([agent('left'), agent('right')]), say('the end')],
    left: [callMany([agent('left of left'), act('left', { ms: 5, beside: true })]), say('left is done')],
    'left of left': [callMany([agent('deepest')]), callMany([put('left of left')]), say('its left is done')],
    deepest: [callMany([act('deepest', { ms: 10 })]), say('the ground')],
    right: [callMany([look('right')]), callMany([agent('left of right')]), say('right is done')],
    'left of right': [callMany([put('left of right', { ms: 15 })]), say('also done')],
  },
  ends: {
    'the root': 'completed',
    left: 'completed',
    'left of left': 'completed',
    deepest: 'completed',
    right: 'completed',
    'left of right': 'completed',
  },
  options: { limits: { depth: 3 } },
}
