import { isDeepStrictEqual } from 'node:util'
import { wordOn } from '../plan.ts'
import type { ShadowLog, ShadowLogs } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Body } from '../tools.ts'
import type { Law } from './law.ts'
import { callIn, isOutOfReach } from './lookups.ts'

/** Law 3. */
export const ONCE: Law = {
  number: 3,
  name: 'once',
  text: 'No tool body that is not declared safe to repeat runs twice; no call is silently repeated, silently dropped or left open.',
  watch: ({ disk, tools, plan }, broken) => {
    const before = new Map<string, Body>()
    return {
      onBody: (body) => {
        const { key, tool, resume, life } = body
        const earlier = before.get(key)
        before.set(key, body)
        if (earlier === undefined) return
        if (resume === 'interrupt') broken(`${tool} ${key} runs again, in process ${life.number}`)
        if (earlier.life === life) broken(`${tool} ${key} runs twice in process ${life.number}`)
        if (resume !== 'keyed') return
        if (!body.isRepeat) broken(`${tool} ${key} runs again and is not told so`)
        if (!isDeepStrictEqual(earlier.intent, body.intent))
          broken(`${tool} ${key} runs again with another intent`)
      },
      onDurable: (log, { event }) => {
        if (event.type === 'call.classified') {
          const judged = eventsOf(log, 'call.classified').filter(({ callId }) => callId === event.callId)
          if (judged.length > 1) broken(`call ${event.callId} of ${log.agentId} is judged again`)
        }
        if (event.type === 'approval.requested' || event.type === 'approval.answered') {
          const same = eventsOf(log, event.type).filter(({ callId }) => callId === event.callId)
          if (same.length > 1) broken(`call ${event.callId} of ${log.agentId} has ${event.type} twice`)
          if (
            event.type === 'approval.answered' &&
            event.decision !== wordOn(plan, `${log.agentId}:${event.callId}`)
          )
            broken(`call ${event.callId} of ${log.agentId} has another answer than the user's first`)
        }
        if (event.type !== 'call.ended' || event.outcome !== 'ok' || event.delivered !== undefined) return
        const bodies = tools.bodies.filter(
          ({ agentId, callId }) => agentId === log.agentId && callId === event.callId,
        )
        const isDone = bodies.some(({ hasActed }) => hasActed) || hasLaunched(log, event.callId)
        // Whoever agrees to stop while who asked has ended has sent nothing.
        if (isLook(log, event.callId)) return
        if (!isDone && event.answers?.approve !== true && !hasSent(disk.logs, log, event.callId))
          broken(`call ${event.callId} of ${log.agentId} is ok, and nothing was done`)
      },
      onEnd: () => {
        for (const log of disk.logs.all) {
          const ended = new Map(eventsOf(log, 'call.ended').map((event) => [String(event.callId), event]))
          for (const { callId, name } of eventsOf(log, 'reply.received').flatMap(({ calls }) => calls))
            if (!ended.has(callId) && !(plan.diskFaults.length > 0 && isOutOfReach(disk.logs, log)))
              broken(`the ${name} call ${callId} of ${log.agentId} has no result`)
          for (const body of tools.bodies) {
            if (body.agentId !== log.agentId || !body.hasActed || body.resume === 'repeat') continue
            if (ended.get(body.callId)?.outcome === 'denied')
              broken(`${body.tool} ${body.key} has run, and was told as denied`)
          }
        }
      },
    }
  },
}

/** Whether the call only looks at an agent, or ends it: what it says of that is held to by law 7. */
const isLook = (log: ShadowLog, callId: string): boolean =>
  ['TaskOutput', 'TaskStop', 'ListAgents'].includes(callIn(log, callId).tool ?? '')

/** Whether the call has sent a message, to an agent that was at work or began another run with it. */
function hasSent(logs: ShadowLogs, { agentId }: ShadowLog, callId: string): boolean {
  const key = `${agentId}:${callId}`
  return logs.all.some((log) =>
    log.events.some(({ event }) =>
      event.type === 'run.started'
        ? event.injects?.includes(key) === true
        : event.type === 'message.accepted' && event.messageId === key,
    ),
  )
}

/** Whether the call has started a child, and its agent is owed the end of it. */
function hasLaunched(log: ShadowLog, callId: string): boolean {
  const started = eventsOf(log, 'call.started').find((event) => event.callId === callId)
  return eventsOf(log, 'child.launched').some(({ child }) => child.agentId === started?.child?.agentId)
}
