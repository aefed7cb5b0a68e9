/**
 * Puts a reply together from the events of a Messages API stream.
 *
 * Owns the meaning of events; knows nothing of HTTP or of how events are framed. What it does not know it keeps:
 * - A1 A block of an unknown type comes out with every field it came with.
 * - A2 A delta of an unknown type is folded into its block field by field: text is appended to text, a list to a
 *   list, anything else replaces what was there.
 * - A3 Counts of usage are totals, so a later one replaces an earlier one; null means "not given" and is dropped.
 * - A4 The input of a tool is always an object. Empty JSON is `{}`; JSON that does not parse, or is no object,
 *   is kept as text under {@link UNPARSED_INPUT}, so that the call fails with a clear error, not the request.
 * - A5 A reply is whole only after `message_stop`, with a `stop_reason`; until then {@link ReplyAccumulator.finish}
 *   throws `stream-cut`.
 */
import { ContentBlock, Reply } from '../../machines/agent/messages.ts'
import { errorFromEvent } from './anthropic-errors.ts'
import type { ModelDelta } from './model.ts'
import { ModelError } from './model.ts'

/** The one key of a tool input that could not be read; its value is the text as the model sent it. */
export const UNPARSED_INPUT = '_unparsed_json'

/** The text of a tool input that could not be read, or undefined for an input that could. */
export function unparsedInput(input: unknown): string | undefined {
  const text = isRecord(input) ? input[UNPARSED_INPUT] : undefined
  return typeof text === 'string' ? text : undefined
}

export interface ReplyAccumulator {
  /**
   * Takes the next event and gives what a subscriber should see of it. Throws a {@link ModelError} for an `error`
   * event and for one that cannot follow what came before.
   */
  accept(event: Readonly<Record<string, unknown>>): ModelDelta
  /** Whether `message_stop` has come: nothing of the reply can follow. */
  readonly stopped: boolean
  /** The whole reply. Throws a {@link ModelError} when it is not whole or is no valid message. */
  finish(): Reply
}

interface OpenBlock {
  fields: Record<string, unknown>
  /** The JSON of a tool's input so far; undefined while none has come. */
  json: string | undefined
}

const HEARTBEAT: ModelDelta = { type: 'heartbeat' }

/** An accumulator for one reply. */
export function createReplyAccumulator(): ReplyAccumulator {
  let message: Record<string, unknown> | undefined
  let usage: Record<string, unknown> = { input_tokens: 0, output_tokens: 0 }
  let stopped = false
  const blocks = new Map<number, OpenBlock>()

  const startMessage = (started: unknown): ModelDelta => {
    if (message !== undefined) throw outOfOrder('a second message_start')
    message = isRecord(started) ? started : {}
    usage = { ...usage, ...given(message['usage']) }
    return HEARTBEAT
  }

  const startBlock = (index: number, block: unknown): ModelDelta => {
    const parsed = ContentBlock.safeParse(block)
    if (!parsed.success) throw outOfOrder(`a content block without a type at index ${index}`)
    blocks.set(index, { fields: { ...parsed.data }, json: undefined })
    return { type: 'block_started', index, block: parsed.data }
  }

  const extendBlock = (index: number, delta: unknown): ModelDelta => {
    const block = blocks.get(index)
    if (block === undefined) throw outOfOrder(`a delta for block ${index}, which has not started`)
    if (!isRecord(delta)) throw outOfOrder(`a delta for block ${index} that is no object`)
    switch (delta['type']) {
      case 'text_delta': {
        const text = String(delta['text'] ?? '')
        block.fields['text'] = extended(block.fields['text'], text)
        return { type: 'text', index, text }
      }
      case 'thinking_delta': {
        const text = String(delta['thinking'] ?? '')
        block.fields['thinking'] = extended(block.fields['thinking'], text)
        return { type: 'thinking', index, text }
      }
      case 'input_json_delta': {
        const json = String(delta['partial_json'] ?? '')
        block.json = (block.json ?? '') + json
        return { type: 'input_json', index, json }
      }
      case 'citations_delta':
        block.fields['citations'] = extended(block.fields['citations'], [delta['citation']])
        return HEARTBEAT
      case 'signature_delta':
        // Always whole, and some servers send it with the block's start as well: it replaces.
        block.fields['signature'] = delta['signature']
        return HEARTBEAT
      default: {
        const { type: _, ...rest } = delta
        for (const [field, value] of Object.entries(rest)) {
          block.fields = { ...block.fields, [field]: extended(block.fields[field], value) }
        }
        return HEARTBEAT
      }
    }
  }

  const amendMessage = (delta: unknown, counts: unknown): ModelDelta => {
    if (message === undefined) throw outOfOrder('a message_delta before message_start')
    if (isRecord(delta)) message = { ...message, ...delta }
    usage = { ...usage, ...given(counts) }
    return HEARTBEAT
  }

  return {
    accept(event) {
      switch (event['type']) {
        case 'message_start':
          return startMessage(event['message'])
        case 'content_block_start':
          return startBlock(Number(event['index']), event['content_block'])
        case 'content_block_delta':
          return extendBlock(Number(event['index']), event['delta'])
        case 'message_delta':
          return amendMessage(event['delta'], event['usage'])
        case 'message_stop':
          stopped = true
          return HEARTBEAT
        case 'error':
          throw errorFromEvent(event)
        default:
          return HEARTBEAT
      }
    },
    get stopped() {
      return stopped
    },
    finish() {
      if (message === undefined) throw cut('before the reply began')
      if (!stopped) throw cut(`in the middle of a reply, after ${blocks.size} content blocks`)
      if (typeof message['stop_reason'] !== 'string') throw cut('without saying why it stopped')
      const content = [...blocks].sort(([a], [b]) => a - b).map(([, block]) => closed(block))
      return validReply({ role: 'assistant', stop_sequence: null, ...message, content, usage })
    },
  }
}

/** `next` added to what a field holds (A2). */
function extended(held: unknown, next: unknown): unknown {
  if (typeof held === 'string' && typeof next === 'string') return held + next
  if (Array.isArray(held) && Array.isArray(next)) return [...held, ...next]
  return next
}

/** A block as it goes into the reply (A4). */
function closed({ fields, json }: OpenBlock): Record<string, unknown> {
  if (json === undefined && fields['type'] !== 'tool_use') return fields
  if (json === undefined || json.trim() === '') {
    return { ...fields, input: isRecord(fields['input']) ? fields['input'] : {} }
  }
  const input = parsedOrUndefined(json)
  return { ...fields, input: isRecord(input) ? input : { [UNPARSED_INPUT]: json } }
}

function parsedOrUndefined(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** The fields of `counts` that are given (A3). */
function given(counts: unknown): Record<string, unknown> {
  if (!isRecord(counts)) return {}
  return Object.fromEntries(
    Object.entries(counts).filter(([, value]) => value !== null && value !== undefined),
  )
}

function validReply(candidate: unknown): Reply {
  const parsed = Reply.safeParse(candidate)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const where = issue === undefined ? '' : ` (${issue.path.join('.')}: ${issue.message})`
  throw new ModelError('server', `the server's reply is no valid message${where}`, {
    retryable: false,
    cause: parsed.error,
  })
}

const cut = (when: string): ModelError =>
  new ModelError('stream-cut', `the stream ended ${when}`, { retryable: true })

const outOfOrder = (what: string): ModelError =>
  new ModelError('stream-cut', `the stream broke: the server sent ${what}`, { retryable: true })

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
