import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look } from '../scenario.ts'

const usage = { input_tokens: 20_000, output_tokens: 1_000 }

export const scenario: Scenario = {
  name: 'token-budget',
  about:
    'A child uses up the tokens of the tree: it ends as limited, and so does the root, wherever they are counted.',
  prompts: ['the root'],
  play: {
    'the root': [{ ...callMany([agent('the child')], 'so far'), usage }, say('never said')],
    'the child': [
      { ...callMany([look('child')]), usage },
      { ...callMany([act('child')], 'so far'), usage },
      say('never said'),
    ],
  },
  ends: { 'the root': 'limit', 'the child': 'limit' },
  options: { limits: { tokens: 80_000 } },
  check: ({ logs }) => {
    const turns = logs.map(({ isRoot, check }) => `${isRoot ? 'root' : 'child'} ${check.agent.turns}`)
    return turns.join() === 'root 1,child 2' ? [] : [`taken were [${turns.join()}] turns`]
  },
}
