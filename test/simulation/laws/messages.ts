import { hasChoice } from '../../../src/machines/agent/context.ts'
import type { AgentEvent } from '../../../src/machines/agent/events.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { callIn, hasAgreed, isOutOfReach } from './lookups.ts'

/** Law 7, of what agents read of what others say. */
export const MESSAGES: Law = {
  number: 7,
  name: 'messages are read once',
  text: 'A message is accepted once per recipient and read once, by whom it was accepted for, in an envelope with the words and the id of who sent it. Whoever comes to its end by its own choice has read all; only who agreed to stop leaves what came behind its last request for its next run.',
  watch: ({ disk, plan }, broken) => {
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
          const words = accepted?.content ?? wordsOf(disk.logs.of(sender), id)
          if (
            event.type !== 'call.ended' &&
            accepted?.means === undefined &&
            !isInEnvelope(event.content, sender, words)
          )
            broken(`${log.agentId} reads the message ${id} without its envelope`)
          if (
            event.type === 'call.ended' &&
            !JSON.stringify(event.result.content).includes(inJson(words ?? ''))
          )
            broken(`${log.agentId} reads the message ${id} as the result of ${event.callId}, in other words`)
        }
        if (event.type === 'message.accepted') {
          const same = eventsOf(log, 'message.accepted').filter(
            ({ messageId }) => messageId === event.messageId,
          )
          if (same.length > 1) broken(`${log.agentId} is sent the message ${event.messageId} twice`)
        }
      },
      onEnd: () => {
        for (const log of disk.logs.all) {
          if (plan.diskFaults.length > 0 && isOutOfReach(disk.logs, log)) continue
          const last = eventsOf(log, 'agent.ended').at(-1)
          if (last === undefined || !hasChoice(last.outcome) || hasAgreed(log)) continue
          const read = new Set(log.events.flatMap(({ event }) => readWith(event)))
          const unread = eventsOf(log, 'message.accepted').filter(
            ({ messageId, means }) => means === undefined && !read.has(messageId),
          )
          if (unread.length > 0)
            broken(
              `${log.agentId} has come to its end and not read ${unread.map(({ messageId }) => messageId).join()}`,
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

/** What a message says by the call that sends it; undefined for plans and requests, which the engine puts into words. */
function wordsOf(sender: ShadowLog | undefined, messageId: string): string | undefined {
  const callId = messageId.slice(messageId.indexOf(':') + 1)
  const { tool, input } = sender === undefined ? { tool: undefined, input: {} } : callIn(sender, callId)
  if (tool === 'AskParent')
    return `${input['question']}\n\n(This agent waits for your answer: send it with SendMessage to "${sender?.agentId}".)`
  return typeof input['message'] === 'string' ? input['message'] : undefined
}

const isInEnvelope = (content: unknown, sender: string, words: string | undefined): boolean =>
  [
    ...JSON.stringify(content).matchAll(
      /<agent-message from=\\"(a[0-9a-f]{16})\\"[^>]*>\\n(.*?)\\n<\/agent-message>/g,
    ),
  ].some(([, from, said]) => from === sender && (words === undefined || said === inJson(words)))

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)
