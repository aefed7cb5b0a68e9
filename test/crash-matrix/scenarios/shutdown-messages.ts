import type { ModelRequest } from '../../../src/effects/model/model.ts'
import { callMany, say } from '../../../src/effects/model/scripted-reply.ts'
import { agentKind } from '../../helpers/scripts.ts'
import type { Final } from '../final.ts'
import type { Scenario } from '../scenario.ts'
import { act, idOf, inBackground, look } from '../scenario.ts'

/** The name of the request of that kind that a conversation has read. */
const readIn = ({ messages }: ModelRequest, kind: string): string | undefined =>
  new RegExp(`kind=\\\\"${kind}\\\\" request-id=\\\\"(a[0-9a-f]{16}:[\\d.]+)\\\\"`).exec(
    JSON.stringify(messages),
  )?.[1]

const asks = (to: string, reason: string) => ({
  name: 'SendMessage',
  input: { to, message: { type: 'shutdown_request', reason } },
})

const answers = (request: ModelRequest, approve: boolean, reason: string) => {
  const request_id = readIn(request, 'shutdown-request')
  if (request_id === undefined) return say(`nobody has asked: ${reason}`)
  const message = { type: 'shutdown_response', request_id, approve, reason }
  return callMany([{ name: 'SendMessage', input: { to: 'parent', message } }])
}

export const scenario: Scenario = {
  name: 'shutdown-messages',
  about:
    'Of two children that are asked to stop one agrees and one goes on; a third is let out of plan mode.',
  prompts: ['the root'],
  play: {
    'the root': [
      callMany([
        inBackground('willing', 'worker'),
        inBackground('unwilling', 'worker'),
        inBackground('planner', 'planner'),
      ]),
      (request) =>
        callMany([
          asks(idOf(request, 'willing'), 'enough'),
          asks(idOf(request, 'unwilling'), 'too much'),
          look('root', { ms: 200 }),
        ]),
      (request) => {
        const request_id = readIn(request, 'plan-approval-request')
        const [to] = (request_id ?? 'nobody').split(':')
        const message = { type: 'plan_approval_response', request_id: request_id ?? 'none', approve: true }
        return callMany([{ name: 'SendMessage', input: { to, message } }])
      },
      say('the end'),
    ],
    willing: [
      callMany([look('willing', { ms: 50 })]),
      (request) => answers(request, true, 'willing is done'),
    ],
    unwilling: [
      callMany([look('unwilling', { ms: 50 })]),
      (request) => answers(request, false, 'not yet'),
      say('unwilling has finished'),
    ],
    planner: [
      callMany([{ name: 'ExitPlanMode', input: { plan: 'the plan' } }]),
      callMany([act('as planned', { ms: 20 })]),
      say('planner has finished'),
    ],
  },
  ends: { 'the root': 'completed', willing: 'completed', unwilling: 'completed', planner: 'completed' },
  isInBackground: true,
  options: {
    permissions: { mode: 'default', allow: ['Act'] },
    definitions: [
      agentKind('worker'),
      agentKind('planner', {
        permissionMode: 'plan',
        tools: ['Look', 'Act', 'ExitPlanMode', 'SendMessage'],
      }),
    ],
  },
  check: (final) => [...timesAsked(final), ...whoAgreed(final)],
}

/** Each request stands once in the conversation of whom it is for, and is answered once. */
const timesAsked = ({ logs }: Final): readonly string[] =>
  logs.flatMap(({ path, recorded }) => {
    const told = recorded.flatMap(({ event }) =>
      event.type === 'message.added' || event.type === 'run.started'
        ? [...JSON.stringify(event.content).matchAll(/kind=\\"([\w-]+)\\" request-id=\\"([^"\\]+)/g)].map(
            ([, kind, id]) => `${kind} ${id}`,
          )
        : [],
    )
    const answered = recorded.flatMap(({ event }) =>
      event.type === 'call.ended' && event.answers !== undefined ? [event.answers.requestId] : [],
    )
    return [...told, ...answered]
      .filter((each, i, all) => all.indexOf(each) !== i)
      .map((each) => `${path}: ${each} is told or answered twice`)
  })

/** Whoever has agreed makes no further request, and its reason is told as its report. */
const whoAgreed = ({ logs }: Final): readonly string[] =>
  logs.flatMap(({ path, recorded }) => {
    const agreed = recorded.findIndex(
      ({ event }) => event.type === 'call.ended' && event.answers?.approve === true,
    )
    const goesOn = recorded.slice(agreed).some(({ event }) => event.type === 'reply.received')
    return agreed >= 0 && goesOn ? [`${path}: it has agreed to stop and asks its model again`] : []
  })
