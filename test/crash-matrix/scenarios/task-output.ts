import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, idOf, inBackground } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'task-output',
  about: 'One end is read twice at the same time by the root itself, another one is told.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([inBackground('read'), inBackground('told')]),
      (request) => {
        const task = { name: 'TaskOutput', input: { task_id: idOf(request, 'read'), timeout: 600_000 } }
        return callMany([task, task])
      },
      callMany([act('root')]),
      say('I have read it'),
    ],
    read: [callMany([act('read', { ms: 50 })]), say('read me')],
    told: [callMany([act('told', { ms: 60 })]), say('tell it')],
  },
  ends: { 'the root': 'completed', read: 'completed', told: 'completed' },
  isInBackground: true,
}
