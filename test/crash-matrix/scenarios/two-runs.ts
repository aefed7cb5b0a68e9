import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look, put } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'two-runs',
  about:
    'The root is asked twice, on one log: the second run knows the first, and no child of it is opened again.',
  prompts: ['the first question', 'the second question'],
  play: {
    'the first question': [callMany([agent('first child'), look('one')]), say('the first answer')],
    'first child': [callMany([act('first child')]), say('report of the first')],
    'the second question': [
      callMany([put('two')], 'I remember'),
      callMany([agent('second child'), act('two')]),
      say('the second answer'),
    ],
    'second child': [callMany([put('second child')]), say('report of the second')],
  },
  ends: {
    'the first question': 'completed',
    'first child': 'completed',
    'the second question': 'completed',
    'second child': 'completed',
  },
  check: ({ logs }) => {
    const runs = logs.flatMap(({ isRoot, runs: own }) => (isRoot ? own.map(({ run }) => run) : []))
    return runs.join() === '1,2' ? [] : [`the runs of the root are [${runs.join()}]`]
  },
}
