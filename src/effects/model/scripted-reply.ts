/**
 * Replies in short form, for models that are no language models: what a test or a demo writes down, made into
 * whole messages and streams.
 */
import type { Subscriber } from 'rxjs'
import type { ContentBlock, Reply, Usage } from '../../machines/agent/messages.ts'
import { isText } from '../../machines/agent/messages.ts'
import type { ModelDelta, ModelRequest } from './model.ts'

/** A tool call that a scripted reply asks for. */
export interface ScriptedCall {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  /** Default: derived from the request. */
  readonly id?: string
}

/** A reply by its parts, in the order thinking, text, calls. */
export interface ScriptedParts {
  readonly text?: string
  readonly calls?: readonly ScriptedCall[]
  /** Default: `tool_use` when there are calls, else `end_turn`. */
  readonly stopReason?: string
  /** Default: counts that depend on the request and the reply only. */
  readonly usage?: Partial<Usage>
  readonly thinking?: string
  /** Into how many deltas the text is split. Default 1. */
  readonly chunks?: number
}

/** What a script says to a request: a text, parts, a whole message, or the error to fail with. */
export type ScriptedReply = string | ScriptedParts | Reply | Error

/** A reply with this text that ends the turn. */
export const say = (text: string): ScriptedParts => ({ text })

/** A reply that calls one tool, after `text` where given. */
export const call = (name: string, input: ScriptedCall['input'] = {}, text?: string): ScriptedParts =>
  callMany([{ name, input }], text)

/** A reply that calls several tools in one turn, after `text` where given. */
export const callMany = (calls: readonly ScriptedCall[], text?: string): ScriptedParts => ({
  calls,
  ...(text === undefined ? {} : { text }),
})

/** The call that a request forces, with a verdict that allows: all that models say which judge nothing. */
export const allowForced = ({ toolChoice }: Pick<ModelRequest, 'toolChoice'>): ScriptedParts =>
  call(toolChoice?.name ?? '', { verdict: 'allow', reason: 'This model judges nothing.' })

/**
 * The message that a scripted reply stands for.
 *
 * Ids are derived from the request, so that the same script gives the same conversation in every run, also when
 * agents overtake each other or a conversation is resumed by another process. They differ between the turns of a
 * conversation and between conversations with different prompts.
 */
export function buildReply(scripted: Exclude<ScriptedReply, Error>, request: ModelRequest): Reply {
  if (isWhole(scripted)) return scripted
  const parts: ScriptedParts = typeof scripted === 'string' ? { text: scripted } : scripted
  const { text, thinking, calls = [] } = parts
  const key = fingerprint(request)
  const content: ContentBlock[] = []
  if (thinking !== undefined) content.push({ type: 'thinking', thinking, signature: `sig_${key}` })
  if (text !== undefined) content.push({ type: 'text', text })
  calls.forEach(({ name, input, id }, index) => {
    content.push({ type: 'tool_use', id: id ?? `toolu_${key}${index}`, name, input })
  })
  return {
    id: `msg_${key}`,
    type: 'message',
    role: 'assistant',
    model: request.model,
    content,
    stop_reason: parts.stopReason ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: {
      input_tokens: 10 * request.messages.length,
      output_tokens: 1 + 10 * calls.length + Math.ceil((text?.length ?? 0) / 4),
      ...parts.usage,
    },
  }
}

/** Gives `reply` as a stream: its blocks with their deltas, the message, completion. Stops when nobody listens. */
export function emitReply(subscriber: Subscriber<ModelDelta>, reply: Reply, chunks = 1): void {
  for (let index = 0; index < reply.content.length && !subscriber.closed; index++) {
    const block = reply.content[index]
    if (block !== undefined) emitBlock(subscriber, index, block, chunks)
  }
  subscriber.next({ type: 'message', reply })
  subscriber.complete()
}

function emitBlock(
  subscriber: Subscriber<ModelDelta>,
  index: number,
  block: ContentBlock,
  chunks: number,
): void {
  if (isText(block)) {
    subscriber.next({ type: 'block_started', index, block: { ...block, text: '' } })
    for (const text of split(block.text, chunks)) subscriber.next({ type: 'text', index, text })
  } else if (block.type === 'thinking' && typeof block['thinking'] === 'string') {
    subscriber.next({ type: 'block_started', index, block: { ...block, thinking: '', signature: '' } })
    subscriber.next({ type: 'thinking', index, text: block['thinking'] })
  } else if (block.type === 'tool_use') {
    subscriber.next({ type: 'block_started', index, block: { ...block, input: {} } })
    subscriber.next({ type: 'input_json', index, json: JSON.stringify(block['input']) })
  } else {
    subscriber.next({ type: 'block_started', index, block })
  }
}

/** `text` in at most `count` parts of about the same length, none of which ends within a character. */
export function split(text: string, count: number): readonly string[] {
  if (count <= 1 || text.length <= 1) return [text]
  const size = Math.max(1, Math.ceil(text.length / count))
  const parts: string[] = []
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = start + size
    const last = text.charCodeAt(end - 1)
    if (last >= 0xd800 && last <= 0xdbff) end += 1
    parts.push(text.slice(start, end))
  }
  return parts
}

const isWhole = (scripted: string | ScriptedParts | Reply): scripted is Reply =>
  typeof scripted === 'object' && 'content' in scripted && 'role' in scripted

/**
 * Sixteen hexadecimal digits that depend on the length of a conversation and on its newest message. That is enough
 * to tell conversations apart: the newest message after a tool call names the call's id, which came from here.
 * Reads a bounded part of each block, because every request pays for it.
 */
function fingerprint({ messages, source }: ModelRequest): string {
  const hash = new Hash()
  hash.add(source)
  hash.addNumber(messages.length)
  const content = messages.at(-1)?.content ?? ''
  if (typeof content === 'string') hash.add(content)
  else for (const block of content) addBlock(hash, block)
  return hash.digest()
}

function addBlock(hash: Hash, block: ContentBlock): void {
  hash.add(block.type)
  for (const field of ['text', 'id', 'tool_use_id', 'content']) {
    const value = block[field]
    if (typeof value === 'string') hash.add(value)
  }
}

/** Two FNV-1a hashes side by side, 64 bits. Not for secrets. */
class Hash {
  private low = 0x811c9dc5
  private high = 0xc9dc5118

  /** Adds the length of `text` and its first and last hundred characters. */
  add(text: string): void {
    this.addNumber(text.length)
    const ends = text.length <= 200 ? text : text.slice(0, 100) + text.slice(-100)
    for (let i = 0; i < ends.length; i++) this.addNumber(ends.charCodeAt(i))
  }

  addNumber(value: number): void {
    this.low = Math.imul(this.low ^ value, 0x01000193)
    this.high = Math.imul(this.high ^ value, 0x01000197)
  }

  digest(): string {
    return hex(this.low) + hex(this.high)
  }
}

const hex = (value: number): string => (value >>> 0).toString(16).padStart(8, '0')
