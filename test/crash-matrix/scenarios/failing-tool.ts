import { call, callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look, put } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'failing-tool',
  about: 'Tools say that they failed, throw, get an input that they do not take, or do not exist.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([act('fails', { how: 'error' }), put('throws', { how: 'throws' }), agent('the child')]),
      callMany([
        { name: 'Nothing', input: { id: 'nobody' } },
        { name: 'Act', input: { id: 'wrong', more: 1 } },
      ]),
      say('the end'),
    ],
    'the child': [
      callMany([look('throws', { how: 'throws' }), put('fails', { how: 'error' })]),
      call('Act', { id: 'throws', how: 'throws' }),
      say('the report'),
    ],
  },
  ends: { 'the root': 'completed', 'the child': 'completed' },
  outcomes: {
    'Act fails': 'error',
    'Put throws': 'error',
    'Nothing nobody': 'error',
    'Act wrong': 'error',
    'Look throws': 'error',
    'Put fails': 'error',
    'Act throws': 'error',
  },
  check: ({ entries }) =>
    entries.some((entry) => entry.kind === 'begun' && entry.id === 'wrong')
      ? ['Act ran with a wrong input']
      : [],
}
