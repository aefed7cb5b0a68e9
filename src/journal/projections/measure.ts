/**
 * How many tokens the next request of a conversation sends, roughly and rather too many: what the last reply says that
 * it read and wrote, and an estimate of what has come since. Pure; reads only what is new, but once after a compaction.
 */
import { tokensOfContent } from '../../definitions/estimate.ts'
import { totalTokensOf } from '../../definitions/report.ts'
import type { PromptContent } from '../../machines/agent/messages.ts'
import { epochOf } from './compaction.ts'
import type { Conversation, ConversationEvent } from './conversation.ts'

/** `fixed`: tokens of system prompt and tools, asked for only when no reply tells. */
export function inputTokensOf(conversation: Conversation, fixed: () => number): number {
  let sum = 0
  for (let index = conversation.length - 1; index >= 0; index--) {
    const event = conversation.at(index)?.event
    if (event === undefined) continue
    if (event.type === 'conversation.compacted') return sum + sinceCompaction(conversation, index) + fixed()
    if (event.type === 'results.cut') sum -= event.saves
    else if (event.type === 'reply.received' && totalTokensOf(event.reply.usage) > 0)
      // A server that counts nothing, or another program's line, says nothing.
      return Math.max(0, sum + totalTokensOf(event.reply.usage))
    else sum += tokensOfContent(contentOf(event))
  }
  return Math.max(0, sum) + fixed()
}

/** What a compaction leaves of the entries in front of it. */
function sinceCompaction(conversation: Conversation, index: number): number {
  const { first, opening } = epochOf((at) => conversation.at(at), index + 1)
  let sum = opening.reduce((tokens: number, content) => tokens + tokensOfContent(content), 0)
  for (let kept = first; kept < index; kept++) {
    const event = conversation.at(kept)?.event
    if (event !== undefined) sum += tokensOfContent(contentOf(event))
  }
  return sum
}

function contentOf(event: ConversationEvent): PromptContent {
  switch (event.type) {
    case 'run.started':
    case 'message.added':
      return event.content
    case 'reply.received':
      return event.reply.content
    case 'call.ended':
      return event.result.content ?? ''
    case 'conversation.compacted':
    case 'results.cut':
      return ''
  }
}
