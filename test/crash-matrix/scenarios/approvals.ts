import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import type { Scenario } from '../scenario.ts'
import { act, agent, put } from '../scenario.ts'

const isBad = (input: unknown): boolean => JSON.stringify(input).includes('bad')

export const scenario: Scenario = {
  name: 'approvals',
  about:
    'Calls of the root and of two children wait for the word of the host, which says it at once or later.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([act('root'), agent('one child'), agent('other child')]),
      callMany([put('root', { beside: true }), act('root bad', { beside: true })]),
      say('the end'),
    ],
    'one child': [callMany([act('one', { beside: true }), put('one', { beside: true })]), say('the report')],
    'other child': [callMany([act('other bad')]), say('the other report')],
  },
  ends: { 'the root': 'completed', 'one child': 'completed', 'other child': 'completed' },
  outcomes: { 'Act root bad': 'denied', 'Act other bad': 'denied' },
  options: { permissions: { mode: 'default', wait: true } },
  onApproval: ({ approvalId, input, toolName }, engine) => {
    const answer = (decision: 'allow' | 'deny', by: string): void => {
      try {
        engine.answer(approvalId, { decision }, by)
      } catch {
        // Another was faster; that only one counts is seen in the log.
      }
    }
    const speak = (): void => {
      answer(isBad(input) ? 'deny' : 'allow', 'ann')
      answer(isBad(input) ? 'allow' : 'deny', 'bob')
    }
    if (toolName === 'Put') speak()
    else setImmediate(speak)
  },
  check: ({ logs, entries }) =>
    logs.flatMap(({ recorded, calls }) =>
      calls.flatMap(({ callId, label, tool, outcomes }) => {
        const of = recorded.flatMap(({ event }) =>
          'callId' in event && event.callId === callId ? [event] : [],
        )
        const asked = of.filter(({ type }) => type === 'approval.requested').length
        const answers = of.filter((event) => event.type === 'approval.answered')
        const isAsked = tool === 'Act' || tool === 'Put'
        const answer = answers.map(({ decision, by }) => `${decision} by ${by}`).join()
        const meant = isAsked ? `${isBad(label) ? 'deny' : 'allow'} by ann` : ''
        const problems =
          asked === Number(isAsked) && answer === meant
            ? []
            : [`${label} is asked ${asked} times, and answered [${answer}]`]
        const times = entries.filter(
          (entry) => entry.kind === 'done' && `${entry.tool} ${entry.id}` === label,
        ).length
        const isDone = outcomes[0] === 'ok' ? times === 1 : times <= Number(!isBad(label))
        return tool === 'Agent' || isDone ? problems : [...problems, `${label} was done ${times} times`]
      }),
    ),
}
