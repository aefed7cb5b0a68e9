import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, idOf, inBackground, LONG_MS } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'task-stop',
  about: 'The root stops a child in the background that has one of its own there.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([inBackground('victim'), inBackground('other')]),
      callMany([act('root', { ms: 20 })]),
      (request) => callMany([{ name: 'TaskStop', input: { task_id: idOf(request, 'victim') } }]),
      say('it is over'),
    ],
    victim: [
      callMany([inBackground('grandchild')]),
      callMany([act('victim', { ms: 2 * LONG_MS })]),
      say('I was spared'),
    ],
    grandchild: [callMany([act('grandchild', { ms: 3 * LONG_MS })]), say('so was I')],
    other: [callMany([act('other', { ms: 30 })]), say('the report')],
  },
  ends: {
    'the root': 'completed',
    // Its long call is over at a crash, and it may come to its end before it is stopped.
    victim: ['killed', 'completed'],
    grandchild: ['killed', 'completed'],
    other: 'completed',
  },
  outcomes: {
    'Act victim': ['interrupted', 'ok'],
    'Act grandchild': ['interrupted', 'ok'],
    'Agent grandchild': ['interrupted', 'ok'],
  },
  isInBackground: true,
  options: { features: { nesting: true }, limits: { depth: 3 } },
}
