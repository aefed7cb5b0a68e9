/** The wire format of a streamed reply, byte for byte as a server of the Messages API would send it. */
import { split } from '../../src/effects/model/scripted-reply.ts'
import type { ContentBlock, Reply } from '../../src/machines/agent/messages.ts'

export interface WireEvent {
  readonly event: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The events of a reply; texts and tool inputs come in at most `chunks` deltas. */
export function eventsOfReply(reply: Reply, chunks = 3): WireEvent[] {
  const { content, stop_reason, stop_sequence, usage, ...rest } = reply
  const { output_tokens, ...inputUsage } = usage
  const message = { ...rest, content: [], stop_reason: null, stop_sequence: null }
  return [
    wire({ type: 'message_start', message: { ...message, usage: { ...inputUsage, output_tokens: 1 } } }),
    wire({ type: 'ping' }),
    ...content.flatMap((block, index) => eventsOfBlock(block, index, chunks)),
    wire({ type: 'message_delta', delta: { stop_reason, stop_sequence }, usage: { output_tokens } }),
    wire({ type: 'message_stop' }),
  ]
}

function eventsOfBlock(block: ContentBlock, index: number, chunks: number): WireEvent[] {
  const { start, deltas } = partsOfBlock(block, chunks)
  return [
    wire({ type: 'content_block_start', index, content_block: start }),
    ...deltas.map((delta) => wire({ type: 'content_block_delta', index, delta })),
    wire({ type: 'content_block_stop', index }),
  ]
}

function partsOfBlock(block: ContentBlock, chunks: number): { start: object; deltas: object[] } {
  switch (block.type) {
    case 'text':
      return {
        start: { ...block, text: '' },
        deltas: split(String(block['text']), chunks).map((text) => ({ type: 'text_delta', text })),
      }
    case 'thinking':
      return {
        start: { ...block, thinking: '', signature: '' },
        deltas: [
          ...split(String(block['thinking']), chunks).map((thinking) => ({
            type: 'thinking_delta',
            thinking,
          })),
          { type: 'signature_delta', signature: block['signature'] },
        ],
      }
    case 'tool_use':
      return {
        start: { ...block, input: {} },
        deltas: split(JSON.stringify(block['input']), chunks).map((partial_json) => ({
          type: 'input_json_delta',
          partial_json,
        })),
      }
    default:
      return { start: block, deltas: [] }
  }
}

/** Events as server-sent events, lines ended by `lineEnd`. */
export const encodeEvents = (events: readonly WireEvent[], lineEnd = '\n'): Buffer =>
  Buffer.from(
    events
      .map(({ event, data }) => `event: ${event}${lineEnd}data: ${JSON.stringify(data)}${lineEnd}${lineEnd}`)
      .join(''),
  )

/** `bytes` in pieces that begin at `borders`, wherever these fall. */
export function cutAt(bytes: Buffer, borders: readonly number[]): Buffer[] {
  const inside = borders.filter((border) => border > 0 && border < bytes.length)
  const sorted = [0, ...new Set(inside.sort((a, b) => a - b)), bytes.length]
  return sorted.slice(1).map((end, i) => bytes.subarray(sorted[i], end))
}

export const wire = (data: WireEvent['data'] & { readonly type: string }): WireEvent => ({
  event: data.type,
  data,
})
