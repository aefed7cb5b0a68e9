/**
 * How many tokens the next request of a conversation sends, roughly and rather too many: what the last reply says that
 * it read and wrote, and an estimate of what has come since. Pure; reads only what is new.
 */
import { tokensOfContent } from '../../definitions/estimate.ts'
import { totalTokensOf } from '../../definitions/report.ts'
import type { Conversation, ConversationEvent } from './conversation.ts'

/** `fixed`: tokens of system prompt and tools, asked for only when no reply tells. */
export function inputTokensOf(conversation: Conversation, fixed: () => number): number {
  let sum = 0
  for (let index = conversation.length - 1; index >= 0; index--) {
    const entry = conversation.at(index)
    if (entry === undefined) continue
    const { event } = entry
    if (event.type === 'reply.received') {
      const counted = totalTokensOf(event.reply.usage)
      // A server that counts nothing, or another program's line.
      if (counted > 0) return sum + counted
    }
    sum += tokensOfContent(contentOf(event))
  }
  return sum + fixed()
}

function contentOf(event: ConversationEvent) {
  switch (event.type) {
    case 'run.started':
    case 'message.added':
      return event.content
    case 'reply.received':
      return event.reply.content
    case 'call.ended':
      return event.result.content ?? ''
  }
}
