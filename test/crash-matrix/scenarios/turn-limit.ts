import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'turn-limit',
  about:
    'A child uses its turns up, and then the root: each ends as limited, after the results of its last turn.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([agent('the child')]),
      callMany([look('root')]),
      callMany([act('root')], 'one more'),
      say('never said'),
    ],
    'the child': [callMany([look('child')]), callMany([act('child')], 'so far'), say('never said')],
  },
  ends: { 'the root': 'limit', 'the child': 'limit' },
  maxTurns: 3,
  options: { limits: { childMaxTurns: 2 } },
  check: ({ logs }) => {
    const turns = logs.map(({ isRoot, check }) => `${isRoot ? 'root' : 'child'} ${check.agent.turns}`)
    return turns.join() === 'root 3,child 2' ? [] : [`taken were [${turns.join()}] turns`]
  },
}
