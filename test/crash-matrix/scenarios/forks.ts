import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, look } from '../scenario.ts'

/** Without a type the call forks its agent. */
const fork = (prompt: string) => ({ name: 'Agent', input: { description: prompt, prompt } })

export const scenario: Scenario = {
  name: 'forks',
  about: 'Two forks of a conversation that has calls in it already; each knows what its parent knew.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([look('before')]),
      callMany([fork('the left part'), fork('the right part')]),
      callMany([act('root')]),
      say('the end'),
    ],
    'the left part': [callMany([act('left', { ms: 50 })]), say('Scope: left')],
    'the right part': [callMany([look('right')]), say('Scope: right')],
  },
  ends: { 'the root': 'completed', 'the left part': 'completed', 'the right part': 'completed' },
  isInBackground: true,
  options: { features: { fork: true } },
  check: ({ logs }) =>
    logs.flatMap(({ isRoot, states, path }) =>
      isRoot || states[0]?.birth?.inherits?.fork !== undefined ? [] : [`${path}: it is no fork`],
    ),
}
