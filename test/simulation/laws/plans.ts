import { isNarrower } from '../../../src/definitions/permissions/modes.ts'
import type { AgentEventOf } from '../../../src/machines/agent/events.ts'
import { PLANNER } from '../definitions.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { modeIn, runOf } from './lookups.ts'

type Change = AgentEventOf<'mode.changed'>
type Answered = AgentEventOf<'question.answered'>

/** Law 6, of plans that another agent approves. */
export const PLANS: Law = {
  number: 6,
  name: 'plans are approved from above',
  text: 'An agent leaves plan mode only when whoever started it has read its plan and said so, in the run in which it was said, and to no wider mode than that one has. Each plan is shown once and answered once. What an agent is offered is what it may use.',
  watch: ({ disk }, broken) => {
    const parentOf = ({ state }: ShadowLog): ShadowLog | undefined =>
      disk.logs.of(state.birth?.parent?.agentId ?? '')
    return {
      onDurable: (log, { event }) => {
        switch (event.type) {
          case 'question.asked':
          case 'question.answered': {
            const same = runOf(log).filter(
              (each) =>
                each.type === event.type && each.callId === event.callId && each.place === event.place,
            )
            if (same.length > 1) broken(`${log.agentId} has ${event.type} of ${event.callId} twice`)
            break
          }
          case 'mode.changed': {
            const approval = runOf(log).findLast((each) => each.type === 'question.answered')
            const why = whyNot(log, event, approval, parentOf(log))
            if (why !== undefined) broken(`${log.agentId} leaves plan mode for ${event.mode}: ${why}`)
            break
          }
          case 'reply.received': {
            const last = runOf(log).findLast((each) => each.type === 'question.answered')
            const isApproved = last?.answer.kind === 'plan' && last.answer['approved'] === true
            if (isApproved && modeIn(log) === 'plan')
              broken(`${log.agentId} goes on in plan mode, although its plan was approved`)
            break
          }
          case 'message.accepted': {
            const { means, origin } = event
            if (means?.kind !== 'plan_approval_response' || !means.approve) break
            const parent = parentOf(log)
            if (origin.from !== 'agent' || origin.agentId !== parent?.agentId)
              broken(`${log.agentId} is told that its plan is approved, by ${JSON.stringify(origin)}`)
            const given = parent && modeIn(parent)
            if (
              given === undefined ||
              means.mode === undefined ||
              isNarrower(given, means.mode) ||
              given === 'plan'
            )
              broken(`the plan of ${log.agentId} is approved for ${means.mode}, and its parent has ${given}`)
            break
          }
          case 'agent.ended': {
            const { outcome } = event
            const isPrepared = runOf(log).some((each) => each.type === 'agent.prepared')
            if (isPrepared && outcome.kind === 'failed' && outcome.fault.code === 'no-tools-left')
              broken(`${log.agentId} was offered tools, and may use none of them`)
            break
          }
        }
      },
    }
  },
}

/** Why an agent may not have left plan mode. */
function whyNot(
  log: ShadowLog,
  { mode, by }: Change,
  approval: Answered | undefined,
  parent: ShadowLog | undefined,
): string | undefined {
  const { birth } = log.state
  if (birth?.plan.agentType !== PLANNER) return `it is a ${birth?.plan.agentType}`
  if (birth.plan.mode.rule === 'parent') return 'its parent was planning when it began'
  if (approval?.answer.kind !== 'plan' || approval.answer['approved'] !== true) return 'no plan is approved'
  if (approval.by !== by || by !== `agent ${parent?.agentId}`) return `${by} says so`
  const letter = eventsOf(log, 'message.accepted').find(({ messageId }) => messageId === approval.messageId)
  const { means } = letter ?? {}
  if (means?.kind !== 'plan_approval_response' || !means.approve) return 'no message has approved it'
  const request = `${log.agentId}:${approval.callId}`
  if (means.requestId !== request) return `what was approved is ${means.requestId}`
  if (means.mode !== mode) return `the message has given ${means.mode}`
  if (parent === undefined || !hasRead(parent, request)) return 'nobody has read the plan'
  return undefined
}

/** Whether a message stands in the conversation of an agent. */
const hasRead = ({ events }: ShadowLog, messageId: string): boolean =>
  events.some(
    ({ event }) =>
      (event.type === 'message.added' || event.type === 'call.ended' || event.type === 'run.started') &&
      event.injects?.includes(messageId) === true,
  )
