/**
 * The content of a conversation, as the Messages API defines it (https://docs.anthropic.com/en/api/messages).
 *
 * Everything is a loose object: a block kind or a field that this version does not know is kept as it came
 * and goes back to the model unchanged.
 */
import * as z from 'zod'

/** Any content block. Narrow it with {@link isText}, {@link isToolUse}, {@link isThinking} or {@link isToolResult}. */
export const ContentBlock = z.looseObject({ type: z.string() })
export type ContentBlock = z.infer<typeof ContentBlock>

export const TextBlock = z.looseObject({ type: z.literal('text'), text: z.string() })
export type TextBlock = z.infer<typeof TextBlock>

export const ToolUseBlock = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.unknown(),
})
export type ToolUseBlock = z.infer<typeof ToolUseBlock>

/** What a tool hands to the model: text, or blocks (text, image, document). */
export const ResultContent = z.union([z.string(), z.array(ContentBlock)])
export type ResultContent = z.infer<typeof ResultContent>

export const ToolResultBlock = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: ResultContent.optional(),
  is_error: z.boolean().optional(),
})
export type ToolResultBlock = z.infer<typeof ToolResultBlock>

/** Token counts of one request. Integers; fields that a server leaves out are absent, never null. */
export const Usage = z.looseObject({
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  cache_creation_input_tokens: z.number().int().optional(),
  cache_read_input_tokens: z.number().int().optional(),
})
export type Usage = z.infer<typeof Usage>

/** Why a model stopped. Values that a newer API adds are treated like `end_turn`. */
export const StopReason = z.string()
export type StopReason = z.infer<typeof StopReason>

/** One whole reply of a model. */
export const Reply = z.looseObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(ContentBlock),
  stop_reason: StopReason,
  stop_sequence: z.string().nullable(),
  usage: Usage,
})
export type Reply = z.infer<typeof Reply>

/** The content of a user message that starts a run. */
export const PromptContent = z.union([z.string(), z.array(ContentBlock)])
export type PromptContent = z.infer<typeof PromptContent>

/** One message of a request. */
export interface RequestMessage {
  readonly role: 'user' | 'assistant'
  readonly content: PromptContent
}

export const isText = (block: ContentBlock): block is TextBlock =>
  block.type === 'text' && typeof block['text'] === 'string'

export const isToolUse = (block: ContentBlock): block is ToolUseBlock =>
  block.type === 'tool_use' && typeof block['id'] === 'string' && typeof block['name'] === 'string'

export const isThinking = (block: ContentBlock): boolean =>
  block.type === 'thinking' || block.type === 'redacted_thinking'

export const isToolResult = (block: ContentBlock): block is ToolResultBlock =>
  block.type === 'tool_result' && typeof block['tool_use_id'] === 'string'

/** The text of a prompt or a result. */
export const contentText = (content: string | readonly ContentBlock[]): string =>
  typeof content === 'string' ? content : textOf(content)

/** The text of a reply: its text blocks joined, or the empty string. Whitespace alone counts as no text. */
export function textOf(content: readonly ContentBlock[]): string {
  const text = content
    .filter(isText)
    .map((block) => block.text)
    .join('\n')
  return text.trim() === '' ? '' : text
}
