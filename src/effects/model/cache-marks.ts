/**
 * Where a request asks the server to cache its prefix.
 *
 * The API takes four marks. Three stand at the end of what lasts: system prompt, tools, last message. The fourth
 * stands on the user message before the last one, where the request before this one had its own last mark: a
 * server looks back only some twenty blocks from a mark, and a turn with many parallel calls has more.
 */
import type { ContentBlock, PromptContent } from '../../machines/agent/messages.ts'
import { isText, isThinking } from '../../machines/agent/messages.ts'
import type { ModelRequest, RequestMessage, ToolDefinition } from './model.ts'

/** What of a request carries marks, in the form that goes over the wire. */
export interface RequestBodyParts {
  /** Absent when there is no system prompt: the API refuses an empty one. */
  readonly system?: string | readonly ContentBlock[]
  readonly tools?: readonly ToolDefinition[]
  readonly messages: readonly RequestMessage[]
}

const MARK = { cache_control: { type: 'ephemeral' } } as const

/** System, tools and messages of `request` as they are, without marks. */
export function withoutCacheMarks({ system, tools, messages }: ModelRequest): RequestBodyParts {
  return {
    ...(system.trim() === '' ? {} : { system }),
    ...(tools.length === 0 ? {} : { tools }),
    messages,
  }
}

/** System, tools and messages of `request` with marks. The request is left as it is; what has no mark is shared. */
export function withCacheMarks(request: ModelRequest): RequestBodyParts {
  const { system, tools, messages } = withoutCacheMarks(request)
  const last = messages.length - 1
  const previous = messages.findLastIndex((message, index) => index < last && message.role === 'user')
  return {
    ...(system === undefined ? {} : { system: [{ type: 'text', text: system, ...MARK }] }),
    ...(tools === undefined ? {} : { tools: markedLast(tools) }),
    messages: messages.map((message, index) =>
      index === last || index === previous
        ? { ...message, content: markedContent(message.content) }
        : message,
    ),
  }
}

function markedLast<T extends object>(items: readonly T[]): readonly T[] {
  return items.map((item, index) => (index === items.length - 1 ? { ...item, ...MARK } : item))
}

/** Content with a mark on its last block that may carry one; unchanged where none may. */
function markedContent(content: PromptContent): PromptContent {
  if (typeof content === 'string') {
    return content === '' ? content : [{ type: 'text', text: content, ...MARK }]
  }
  const at = content.findLastIndex(mayCarryMark)
  return at < 0 ? content : content.map((block, index) => (index === at ? { ...block, ...MARK } : block))
}

/** The API refuses a mark on thinking and on empty text. */
function mayCarryMark(block: ContentBlock): boolean {
  return !isThinking(block) && !(isText(block) && block.text === '')
}
