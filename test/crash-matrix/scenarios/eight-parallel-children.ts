import type { ScriptedParts } from '../../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, put } from '../scenario.ts'

const CHILDREN = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight']

const partOf = (child: string): readonly ScriptedParts[] => [
  callMany([act(child, { ms: 10, beside: true }), put(child, { ms: 20, beside: true })]),
  say(`report of ${child}`),
]

export const scenario: Scenario = {
  name: 'eight-parallel-children',
  about: 'Eight children work at the same time, so that a kill finds all of them in the middle of something.',
  prompts: ['the root'],
  play: {
    'the root': [callMany(CHILDREN.map((child) => agent(child))), say('the end')],
    ...Object.fromEntries(CHILDREN.map((child) => [child, partOf(child)])),
  },
  ends: { 'the root': 'completed', ...Object.fromEntries(CHILDREN.map((child) => [child, 'completed'])) },
}
