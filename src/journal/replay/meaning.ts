/**
 * What an event means, apart from when it happened, what it cost and what things are called: two runs of one story
 * give the same. Pure.
 */
import type { ContentBlock, PromptContent, RequestMessage } from '../../machines/agent/messages.ts'

/** What the engine writes into texts and differs between two runs of one story. */
const CHANGING: readonly (readonly [RegExp, string])[] = [
  [/\S*\/subagents\/agent-a[0-9a-f]{16}\.jsonl/g, '<log>'],
  [/\S*\/blobs\/[0-9a-f]{40,64}/g, '<blob>'],
  // Whether an agent can be gone on with depends on what is switched on; logs of older versions never say it.
  [/ \(SendMessage with to: '[^']*' goes on with it\)/g, ''],
  [/\ba[0-9a-f]{16}\b/g, '<agent>'],
  [/\b(total_tokens|tool_uses|duration_ms): \d+/g, '$1: <n>'],
]

/** A text without the names and numbers that change from run to run. */
export function meaningOfText(text: string): string {
  return CHANGING.reduce((changed, [pattern, word]) => changed.replace(pattern, word), text)
}

/** Members of blocks that carry an id, a mark of the sender, or a proof that only its model can read. */
const NAMES: ReadonlySet<string> = new Set(['id', 'tool_use_id', 'signature', 'cache_control'])

/** A content as plain data: a string is one text block. Inputs of calls are kept as they are. */
export function meaningOfContent(content: PromptContent | undefined): readonly unknown[] {
  if (content === undefined) return []
  const blocks: readonly ContentBlock[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return blocks.map((block) =>
    Object.fromEntries(
      Object.entries(block)
        .filter(([key]) => !NAMES.has(key))
        .map(([key, value]) => [key, meaningOfMember(block, key, value)]),
    ),
  )
}

function meaningOfMember(block: ContentBlock, key: string, value: unknown): unknown {
  if (block.type === 'tool_result' && key === 'content') {
    return meaningOfContent(typeof value === 'string' || Array.isArray(value) ? value : undefined)
  }
  return sorted(value)
}

/** A value with its texts made comparable and its members in one order. */
export function sorted(value: unknown): unknown {
  if (typeof value === 'string') return meaningOfText(value)
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  )
}

/** The messages of a request as one text: equal for two requests that mean the same. */
export function meaningOfRequest(messages: readonly RequestMessage[]): string {
  return JSON.stringify(messages.map(({ role, content }) => [role, meaningOfContent(content)]))
}
