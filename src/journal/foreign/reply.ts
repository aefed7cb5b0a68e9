/** The lines of one reply of a transcript, as one reply. */
import type { Reply, Usage } from '../../machines/agent/messages.ts'
import { isToolUse } from '../../machines/agent/messages.ts'
import type { SourceLine } from './source-line.ts'

export interface SourceReply {
  readonly reply: Reply
  readonly requestId: string | undefined
  /** One id per block. */
  readonly lineIds: readonly string[]
}

const COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
] as const

/** Joins them. The last stop reason that stands there counts; token counts repeat and grow, so the largest does. */
export function replyOf(parts: readonly SourceLine[]): SourceReply {
  const messages = parts.flatMap(({ message }) => message ?? [])
  const content = messages.flatMap(({ blocks }) => blocks)
  const lineIds = parts.flatMap(({ id, message }) =>
    (message?.blocks ?? []).map((_, i) => (i === 0 ? id : `${id}.${i}`)),
  )
  const stopReason = messages.findLast((message) => message.stopReason !== undefined)?.stopReason
  const reply: Reply = {
    id: messages[0]?.id ?? parts[0]?.id ?? '',
    type: 'message',
    role: 'assistant',
    model: messages.find(({ model }) => model !== undefined)?.model ?? 'unknown',
    content,
    stop_reason: stopReason ?? (content.some(isToolUse) ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: usageOf(messages.map(({ usage }) => usage)),
  }
  return { reply, requestId: parts.find((part) => part.requestId !== undefined)?.requestId, lineIds }
}

function usageOf(usages: readonly Readonly<Record<string, unknown>>[]): Usage {
  const largest = (key: string): number =>
    usages.reduce((most, usage) => Math.max(most, wholeNumber(usage[key])), 0)
  const [input, output, created, read] = COUNTS.map(largest)
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    ...(created ? { cache_creation_input_tokens: created } : {}),
    ...(read ? { cache_read_input_tokens: read } : {}),
  }
}

const wholeNumber = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
