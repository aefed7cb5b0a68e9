import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look, put } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'denied-tool',
  about: 'A rule denies a tool: of the root, and of its child. Refusals are counted once.',
  prompts: ['the root'],
  play: {
    'the root': [callMany([act('root'), look('root'), agent('the child')]), say('the end')],
    'the child': [callMany([act('child'), put('child'), act('child again')]), say('the report')],
  },
  ends: { 'the root': 'completed', 'the child': 'completed' },
  outcomes: { 'Act root': 'denied', 'Act child': 'denied', 'Act child again': 'denied' },
  options: { permissions: { mode: 'bypassPermissions', deny: ['Act'] } },
  check: ({ logs }) =>
    logs.flatMap(({ isRoot, recorded }) => {
      const denials = recorded.flatMap(({ event }) =>
        event.type === 'agent.ended' ? [event.denials?.['Act']] : [],
      )
      return denials.join() === (isRoot ? '1' : '2') ? [] : [`counted are [${denials.join()}] refusals`]
    }),
}
