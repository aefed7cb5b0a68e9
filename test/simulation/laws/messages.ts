import type { AgentEvent } from '../../../src/machines/agent/events.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { callIn, descendantsOf, isOutOfReach } from './lookups.ts'

/** Law 7, of what agents say to each other and read of each other. */
export const MESSAGES: Law = {
  number: 7,
  name: 'messages are read once',
  text: 'A message is accepted once per recipient and read once, by whom it was accepted for, in the words and with the name of who sent it; a run that comes to its end by its own choice leaves none unread for ever. A name is given to nobody while its holder is at work. What is read of a task is what its log says, and what is said to be stopped has ended, with all that it started.',
  watch: ({ disk, plan }, broken) => {
    const endedSince = (log: ShadowLog | undefined): boolean => log?.state.run?.status !== 'active'
    return {
      onDurable: (log, { event }) => {
        for (const id of readWith(event)) {
          const times = log.events
            .flatMap((each) => readWith(each.event))
            .filter((each) => each === id).length
          if (times > 1) broken(`${log.agentId} reads the message ${id} ${times} times`)
          const accepted = eventsOf(log, 'message.accepted').find(({ messageId }) => messageId === id)
          if (accepted === undefined && event.type !== 'run.started')
            broken(`${log.agentId} reads the message ${id}, which it was never sent`)
          const sender = id.slice(0, id.indexOf(':'))
          const from = event.type === 'run.started' ? event.origin : accepted?.origin
          if (from?.from === 'agent' && from.agentId !== sender)
            broken(`the message ${id} is marked as from ${from.agentId}`)
          if (
            event.type === 'message.added' &&
            !JSON.stringify(event.content).includes(`from=\\"${sender}\\"`)
          )
            broken(`${log.agentId} reads the message ${id} without the name of who sent it`)
        }
        if (event.type === 'message.accepted') {
          const same = eventsOf(log, 'message.accepted').filter(
            ({ messageId }) => messageId === event.messageId,
          )
          if (same.length > 1) broken(`${log.agentId} is sent the message ${event.messageId} twice`)
        }
        if (event.type === 'name.registered') {
          const holder = eventsOf(log, 'name.registered').findLast(
            ({ name, agentId }) => name === event.name && agentId !== event.agentId,
          )
          const held = holder && disk.logs.of(holder.agentId)
          if (held?.state.run?.status === 'active')
            broken(
              `the name ${event.name} of ${holder?.agentId}, who is at work, is given to ${event.agentId}`,
            )
        }
        if (event.type !== 'call.ended' || event.outcome !== 'ok') return
        const { tool, input } = callIn(log, event.callId)
        const taskId = String(input['task_id'])
        if (tool === 'TaskStop') {
          const left = [disk.logs.of(taskId), ...descendantsOf(disk.logs, taskId)].filter(
            (each) => !endedSince(each) && each !== log,
          )
          if (left.length > 0)
            broken(
              `${taskId} is said to be stopped, and ${left.map((each) => each?.agentId).join()} is at work`,
            )
        }
        if (
          tool === 'TaskOutput' &&
          event.delivered !== undefined &&
          endedIn(disk.logs.of(taskId), event.delivered.run) === undefined
        )
          broken(`${log.agentId} reads the end of ${taskId}, which has none`)
      },
      onEnd: () => {
        for (const log of disk.logs.all) {
          if (plan.diskFaults.length > 0 && isOutOfReach(disk.logs, log)) continue
          const last = eventsOf(log, 'agent.ended').at(-1)
          if (last === undefined || last.outcome.kind !== 'completed') continue
          const read = new Set(log.events.flatMap(({ event }) => readWith(event)))
          const unread = eventsOf(log, 'message.accepted').filter(
            ({ messageId, means }) => means === undefined && !read.has(messageId),
          )
          if (unread.length > 0)
            broken(
              `${log.agentId} has completed and not read ${unread.map(({ messageId }) => messageId).join()}`,
            )
        }
      },
    }
  },
}

/** Messages that stand in the conversation with this event. */
const readWith = (event: AgentEvent): readonly string[] =>
  event.type === 'message.added' || event.type === 'call.ended' || event.type === 'run.started'
    ? (event.injects ?? [])
    : []

const endedIn = (log: ShadowLog | undefined, run: number): AgentEvent | undefined =>
  eventsOf(log, 'agent.ended').find((event) => event.run === run)
