import { COMPACTION_REQUEST } from '../../../src/definitions/compaction.ts'
import type { AgentEvent, Recorded } from '../../../src/machines/agent/events.ts'
import type { RequestMessage } from '../../../src/machines/agent/messages.ts'
import { textOf } from '../../../src/machines/agent/messages.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import type { Law } from './law.ts'
import { logsOfRequest, nameOfRequest } from './lookups.ts'

/** Law 5, where a conversation is summed up. It reads requests as texts: nothing here is what makes them. */
export const COMPACTION: Law = {
  number: 5,
  name: 'valid conversation',
  text: 'A summary stands once, for what its model has read and nothing else: what nobody has answered, and what comes behind it, is there word for word.',
  watch: ({ disk }, broken) => {
    /** How far a log was when its agent was last asked to sum up. */
    const read = new Map<string, number>()
    return {
      onDurable: (log, { event }) => {
        if (event.type !== 'conversation.compacted' && event.type !== 'compaction.failed') return
        const asked = eventsOf(log, 'context.exceeded').length
        const answered =
          eventsOf(log, 'conversation.compacted').length + eventsOf(log, 'compaction.failed').length
        if (answered > asked)
          broken(
            `the conversation of ${log.agentId} is summed up ${answered} times, and was too long ${asked} times`,
          )
        if (event.type === 'compaction.failed') return
        if (event.upTo > (read.get(log.path) ?? -1))
          broken(`${log.agentId} sums up to ${event.upTo}, and was asked to at ${read.get(log.path)}`)
        const unread = log.events.slice(log.events.findLastIndex(isReply) + 1).find(isPrompt)
        if (unread !== undefined && unread.seq <= event.upTo)
          broken(`the prompt at ${unread.seq} of ${log.agentId} is summed up, and nobody has answered it`)
      },
      onRequest: (seen) => {
        const { request, isSummary } = seen
        const logs = logsOfRequest(disk.logs, seen)
        if (isSummary) for (const log of logs) read.set(log.path, log.lastSeq)
        const text = textsIn(request.messages)
        const name = nameOfRequest(seen)
        if (isSummary !== text.includes(inJson(COMPACTION_REQUEST)))
          broken(`${name} is ${isSummary ? 'not ' : ''}asked to sum up`)
        const troubles = logs.map((log) => troubleWith(log, text, isSummary))
        if (troubles[0] !== undefined && troubles.every((trouble) => trouble !== undefined))
          broken(`${name} ${troubles[0]}`)
      },
    }
  },
}

/** What a request of this agent has that is summed up, or lacks that is not. */
function troubleWith(log: ShadowLog, text: string, isSummary: boolean): string | undefined {
  const compacted = eventsOf(log, 'conversation.compacted').at(-1)
  if (compacted === undefined) return undefined
  const times = text.split(inJson(compacted.summary)).length - 1
  if (times !== 1) return `has the summary ${times} times`
  for (const { seq, event } of log.events) {
    const mark = markOf(event)
    if (mark === undefined) continue
    if (seq <= compacted.upTo && text.includes(mark)) return `still has ${mark}, which is summed up`
    const isMeant = seq > compacted.upTo && !(isSummary && isBehindReplies(log, seq))
    if (isMeant && !text.includes(mark)) return `has lost ${mark}, which is not summed up`
  }
  return undefined
}

const isReply = ({ event }: Recorded): boolean => event.type === 'reply.received'
const isPrompt = ({ event }: Recorded): boolean => event.type === 'run.started'

/** A summary is not asked about what nobody has answered. */
const isBehindReplies = (log: ShadowLog, seq: number): boolean =>
  seq > (log.events.findLast(isReply)?.seq ?? -1)

/** What of an event cannot be missed in a request: a prompt, and the id of a call that has its result. */
function markOf(event: AgentEvent): string | undefined {
  if (event.type === 'run.started')
    return typeof event.content === 'string' ? inJson(event.content) : inJson(textOf(event.content))
  return event.type === 'call.ended' ? `"${inJson(event.result.tool_use_id)}"` : undefined
}

const textsIn = (messages: readonly RequestMessage[]): string =>
  messages.map(({ content }) => JSON.stringify(content)).join('\n')

/** A text as JSON has it within a string. */
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)
