import { call, callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, look, put } from '../scenario.ts'

const WARNING = /SECURITY WARNING/g

export const scenario: Scenario = {
  name: 'auto-mode',
  about: 'Calls are judged, and so is the work of a child: each call once, each report behind one warning.',
  prompts: ['the root'],
  play: {
    'the root': [callMany([agent('the child'), act('root')]), say('the end')],
    'the child': [callMany([look('child'), act('good'), act('bad'), put('child')]), say('the report')],
  },
  ends: { 'the root': 'completed', 'the child': 'completed' },
  outcomes: { 'Act bad': 'denied' },
  options: { permissions: { mode: 'auto' } },
  verdict: (question) => {
    const kind = question.includes('<agent-report>') ? 'flag' : question.includes('"bad"') ? 'block' : 'allow'
    return call('verdict', { verdict: kind, reason: 'that is what the scenario says' })
  },
  check: ({ logs }) =>
    logs.flatMap(({ isRoot, recorded }) => {
      const events = recorded.map(({ event }) => event)
      const judged = events.flatMap((event) => (event.type === 'call.classified' ? [event.callId] : []))
      const reviews = events.filter(({ type }) => type === 'review.ended').length
      const warnings = events.flatMap((event) =>
        event.type === 'call.ended' ? [...JSON.stringify(event.result).matchAll(WARNING)] : [],
      )
      const found = [new Set(judged).size, judged.length, reviews, warnings.length].join()
      const meant = isRoot ? '1,1,0,1' : '3,3,1,0'
      return found === meant ? [] : [`verdicts, reviews and warnings are ${found}, not ${meant}`]
    }),
}
