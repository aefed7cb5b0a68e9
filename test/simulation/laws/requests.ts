import type { AgentEvent } from '../../../src/machines/agent/events.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { callIn, hasAgreed, lineOf, runOf } from './lookups.ts'

/** Law 4, of ends that somebody has agreed to. */
export const REQUESTS: Law = {
  number: 4,
  name: 'agreed ends',
  text: 'A request to stop is answered at most once, by who has read it in this run. Who has agreed asks its model for nothing more, unless a stop hook sends it back to work, and completes.',
  watch: ({ disk }, broken) => ({
    onDurable: (log, { event }) => {
      if (event.type === 'reply.received' && hasAgreed(log))
        broken(`${log.agentId} has agreed to stop and asks its model again`)
      if (event.type === 'agent.ended' && hasAgreed(log) && !AGREED_ENDS.includes(event.outcome.kind))
        broken(`${log.agentId} has agreed to stop and ends with ${event.outcome.kind}`)
      if (event.type !== 'call.ended') return
      const { answers, callId } = event
      const said = answerIn(log, callId)
      if (said !== undefined && event.outcome === 'ok' && answers === undefined)
        broken(`the answer ${callId} of ${log.agentId} was taken, and its log does not say so`)
      if (answers === undefined) return
      const { requestId, approve } = answers
      if (said?.request_id !== requestId || said.approve !== approve)
        broken(`${log.agentId} answers ${requestId} with ${approve}, which it has not said`)
      const times = disk.logs.all
        .flatMap((each) => eventsOf(each, 'call.ended'))
        .filter((each) => each.answers?.requestId === requestId).length
      if (times > 1) broken(`the request ${requestId} is answered ${times} times`)
      const hasRead = runOf(log).some((each) => readWith(each).includes(requestId))
      if (!hasRead) broken(`${log.agentId} answers ${requestId}, which it has not read in this run`)
      const asker = requestId.slice(0, requestId.indexOf(':'))
      if (
        !lineOf(disk.logs, log.agentId ?? '')
          .slice(1)
          .some(({ agentId }) => agentId === asker)
      )
        broken(`${log.agentId} answers ${asker}, who may not ask it`)
    },
  }),
}

/** Messages that stand in the conversation with this event. */
const readWith = (event: AgentEvent): readonly string[] =>
  event.type === 'message.added' || event.type === 'call.ended' ? (event.injects ?? []) : []

/** Ends of a run that has agreed: its own, or one that came before it. */
const AGREED_ENDS: readonly Extract<AgentEvent, { type: 'agent.ended' }>['outcome']['kind'][] = [
  'completed',
  'no_report',
  'killed',
  'failed',
]

/** The answer to a request to stop that a call is, as the model has said it. */
function answerIn(log: ShadowLog, callId: string): { request_id?: unknown; approve?: unknown } | undefined {
  const message = Object(callIn(log, callId).input['message'])
  return message.type === 'shutdown_response' ? message : undefined
}
