import { call, callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Final } from '../final.ts'
import type { Scenario } from '../scenario.ts'
import { act, idOf, inBackground } from '../scenario.ts'

export const scenario: Scenario = {
  name: 'deferred-review',
  about:
    'Agents in the background owe their reviews: one is told, one is read, one is spoken to before it is told.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([inBackground('told'), inBackground('read'), inBackground('asked again')]),
      (request) =>
        callMany([
          { name: 'TaskOutput', input: { task_id: idOf(request, 'read'), timeout: 600_000 } },
          { name: 'SendMessage', input: { to: idOf(request, 'asked again'), message: 'go on' } },
        ]),
      callMany([act('root', { ms: 20 })]),
      say('I have read them'),
    ],
    told: [callMany([act('told', { ms: 30 })]), say('the report of the first')],
    read: [callMany([act('read', { ms: 60 })]), say('the report of the second')],
    'asked again': [say('the report of the third')],
    'go on': [say('the report of the fourth')],
  },
  ends: {
    'the root': 'completed',
    told: 'completed',
    read: 'completed',
    'asked again': 'completed',
    'go on': 'completed',
  },
  mayBeAsked: ['go on'],
  isInBackground: true,
  options: { permissions: { mode: 'auto' }, review: { deferBackground: true } },
  verdict: (question) =>
    call('verdict', { verdict: question.includes('<agent-report>') ? 'flag' : 'allow', reason: 'as it is' }),
  check: (final) => [...reviewedOnce(final), ...warnedOf(final)],
}

/** Each run that owes its review has one, behind its end and before the next run. */
const reviewedOnce = ({ logs }: Final): readonly string[] =>
  logs.flatMap(({ isRoot, path, recorded }) => {
    if (isRoot) return []
    const told = recorded
      .flatMap(({ event }) =>
        event.type === 'agent.ended'
          ? [event.review ?? 'ended']
          : event.type === 'review.ended' || event.type === 'run.started'
            ? [event.type]
            : [],
      )
      .join()
    return /^(run\.started,owed,review\.ended,?)+$/.test(told) ? [] : [`${path}: ${told}`]
  })

const timesIn = (text: string, what: string): number => text.split(what).length - 1

/** Wherever the root reads a report there is a warning with it. */
const warnedOf = ({ logs }: Final): readonly string[] =>
  logs.flatMap(({ isRoot, recorded }) =>
    !isRoot
      ? []
      : recorded.flatMap(({ event, seq }) => {
          if (event.type !== 'message.added' && event.type !== 'call.ended') return []
          const text = JSON.stringify(event.type === 'call.ended' ? event.result : event.content)
          const [reports, warnings] = [timesIn(text, 'the report of'), timesIn(text, 'SECURITY WARNING')]
          return reports === warnings ? [] : [`line ${seq} has ${reports} reports and ${warnings} warnings`]
        }),
  )
