/**
 * The block rules of a request: what one prompt, reply or result of the log becomes. Pure; what is clean comes back
 * as the same object, so that a clean history costs no copies.
 */
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type {
  ContentBlock,
  PromptContent,
  ResultContent,
  ToolResultBlock,
  ToolUseBlock,
} from '../../machines/agent/messages.ts'
import { isText, isThinking, isToolUse } from '../../machines/agent/messages.ts'
import type { CallId } from '../../machines/ids.ts'
import { callIdsOf } from './conversation.ts'
import { wellFormed } from './well-formed.ts'

/** What a model reads in place of a result that does not exist. */
export const INTERRUPTED =
  'interrupted: this call has no result. It may have been done in part, or not at all.'

/** What a model reads in place of a result that says nothing: an empty one is refused, or taken for the end. */
export const NO_OUTPUT = '(no output)'

/** Longest tool name that the API takes. */
const MAX_NAME = 128

/** Block types that a user message, or a result in it, cannot carry. Results have their place from their call. */
const NOT_FROM_USER: ReadonlySet<string> = new Set([
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
  'server_tool_use',
  'mcp_tool_use',
])

/** Block types that an assistant message cannot carry. */
const NOT_FROM_ASSISTANT: ReadonlySet<string> = new Set(['tool_result', 'image', 'document'])

/** A call as a request names it. Without a `callId` no result can belong to it. */
export interface RequestedCall {
  readonly id: string
  readonly callId: CallId | undefined
}

export interface CleanReply {
  readonly blocks: readonly ContentBlock[]
  /** The `tool_use` blocks among them, in order. */
  readonly calls: readonly RequestedCall[]
}

/** Gives a tool call its id in requests: the wanted one, or one made from it and the block's place in the log. */
export type ClaimId = (wanted: string, position: number) => string

/**
 * A reply as a request carries it, or undefined when nothing but thinking is left of it. Thinking stays as it came,
 * or goes as a whole: when it is another model's, when it is damaged, and at the end of the reply, where the API
 * does not take it.
 */
export function cleanReply(
  event: AgentEventOf<'reply.received'>,
  model: string | undefined,
  claimId: ClaimId,
): CleanReply | undefined {
  const { reply, seq } = event
  const keepsThinking = model === undefined || isSameModel(reply.model, model)
  const callIds = callIdsOf(event)
  const spoken = reply.content.map((block) => (isThinking(block) ? undefined : cleanSpoken(block)))
  const last = spoken.findLastIndex((block) => block !== undefined)
  const blocks: ContentBlock[] = []
  const calls: RequestedCall[] = []
  for (const [i, block] of reply.content.slice(0, last + 1).entries()) {
    if (isThinking(block)) {
      if (keepsThinking && isWholeThinking(block)) blocks.push(block)
      continue
    }
    const clean = spoken[i]
    if (clean === undefined) continue
    if (isToolUse(clean)) {
      const id = claimId(cleanId(clean.id), seq + i)
      calls.push({ id, callId: callIds[i] })
      blocks.push(id === clean.id ? clean : { ...clean, id })
    } else {
      blocks.push(clean)
    }
  }
  return blocks.length === 0 ? undefined : { blocks, calls }
}

/** A prompt as parts of a user message: none when it says nothing. A plain text stays a string. */
export function cleanPrompt(content: PromptContent): readonly (string | ContentBlock)[] {
  if (typeof content === 'string') return saysSomething(content) ? [wellFormed(content)] : []
  return content.flatMap((block) => cleanGiven(block) ?? [])
}

/** A result as the answer to the call `id`. It always says something; an error says it in text alone. */
export function cleanResult(result: ToolResultBlock, id: string): ToolResultBlock {
  const content = cleanResultContent(result.content, result.is_error === true)
  const clean = wellFormed(withoutMark(result))
  if (clean === result && content === result.content && id === result.tool_use_id) return result
  return { ...clean, tool_use_id: id, content }
}

/** The engine's own answer to a call that has none. */
export function interruptedResult(id: string): ToolResultBlock {
  return { type: 'tool_result', tool_use_id: id, content: INTERRUPTED, is_error: true }
}

/**
 * Whether two names mean one model, whose thinking it can be given back: `claude-x`, `claude-x-latest` and
 * `claude-x-20250929` do, as a server answers to an alias with the dated name.
 */
export function isSameModel(a: string, b: string): boolean {
  return a === b || familyOf(a) === familyOf(b)
}

const familyOf = (model: string): string =>
  model.replace(/\[[^\]]*\]$/, '').replace(/-latest$|[-@]\d{8}$/, '')

/** Whether a text holds more than white space and control characters. */
const saysSomething = (text: string): boolean => /[^\s\p{White_Space}\p{Cc}]/u.test(text)

/** A block of a reply other than thinking; undefined when a request cannot carry it. Its tool id is not looked at. */
function cleanSpoken(block: ContentBlock): ContentBlock | undefined {
  if (block.type === 'tool_use') return isToolUse(block) ? cleanToolUse(block) : undefined
  return NOT_FROM_ASSISTANT.has(block.type) ? undefined : cleanOther(block)
}

/** A block of a prompt or of a result. */
function cleanGiven(block: ContentBlock): ContentBlock | undefined {
  return NOT_FROM_USER.has(block.type) ? undefined : cleanOther(block)
}

function cleanOther(block: ContentBlock): ContentBlock | undefined {
  if (block.type === 'text' && !(isText(block) && saysSomething(block.text))) return undefined
  return wellFormed(withoutMark(block))
}

function cleanToolUse(block: ToolUseBlock): ToolUseBlock {
  const name = cleanName(block.name)
  const input = isPlainObject(block.input) ? block.input : wrappedInput(block.input)
  const clean = name === block.name && input === block.input ? block : { ...block, name, input }
  const { id } = block
  const sendable = wellFormed(withoutMark(clean))
  // The id is repaired by its own rule, for which a lone surrogate is one more character that ids do not have.
  return sendable.id === id ? sendable : { ...sendable, id }
}

const isPlainObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The API takes only objects: nothing becomes an empty one, anything else its `value`. */
const wrappedInput = (input: unknown): object =>
  input === undefined || input === null ? {} : { value: input }

const cleanName = (name: string): string =>
  name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_NAME) || 'unnamed_tool'

const cleanId = (id: string): string => id.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call'

/** A thinking block that the server can verify. One that would have to be repaired is no longer what was signed. */
function isWholeThinking(block: ContentBlock): boolean {
  const hasFields =
    block.type === 'thinking'
      ? typeof block['thinking'] === 'string' && typeof block['signature'] === 'string'
      : typeof block['data'] === 'string'
  return hasFields && !('cache_control' in block) && wellFormed(block) === block
}

function cleanResultContent(content: ResultContent | undefined, isError: boolean): ResultContent {
  if (content === undefined) return NO_OUTPUT
  if (typeof content === 'string') return saysSomething(content) ? wellFormed(content) : NO_OUTPUT
  const blocks = content.flatMap((block) =>
    isError && block.type !== 'text' ? [] : (cleanGiven(block) ?? []),
  )
  if (blocks.length === 0) return NO_OUTPUT
  return blocks.length === content.length && blocks.every((block, i) => block === content[i])
    ? content
    : blocks
}

/** Cache marks are set when a request is sent; the few that one request may carry must not come from old messages. */
function withoutMark<T extends ContentBlock>(block: T): T {
  if (!('cache_control' in block)) return block
  const { cache_control: _, ...rest } = block
  // `cache_control` is no field of any of our block types, so what is left is still a T.
  return rest as unknown as T
}
