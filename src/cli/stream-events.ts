/**
 * The deltas of a reply as the stream events of the Messages API, for readers that know those. Pure, stateful.
 *
 * Our deltas say less than the wire did: the id of the message and the counts at its start are not known before
 * its end. The events are well formed all the same: one `message_start`, each block started, filled and stopped
 * once and in order, `message_delta`, `message_stop`. A broken attempt simply stops; the next one begins with a
 * new `message_start`.
 */
import type { ModelDelta } from '../effects/model/model.ts'
import type { ContentBlock, Reply } from '../machines/agent/messages.ts'

/** One event of a stream, as the API names them. */
export interface StreamEvent {
  readonly type:
    | 'message_start'
    | 'content_block_start'
    | 'content_block_delta'
    | 'content_block_stop'
    | 'message_delta'
    | 'message_stop'
  readonly [field: string]: unknown
}

export interface StreamEventsOptions {
  /** The model that was asked. */
  readonly model: string
  /** Stands for the message's id until it is known. */
  readonly messageId: () => string
}

/** The stream of one agent, reply after reply. */
export interface StreamEvents {
  /** The events that a delta makes. */
  delta(delta: ModelDelta): StreamEvent[]
  /** The reply is whole: ends what is open. Nothing when there were no deltas, or its `message` has ended it. */
  end(reply: Reply): StreamEvent[]
}

/** Turns deltas into stream events. */
export function createStreamEvents(options: StreamEventsOptions): StreamEvents {
  let isOpen = false
  let openBlock: number | undefined

  const begin = (): StreamEvent[] => {
    if (isOpen) return []
    isOpen = true
    const message = {
      id: options.messageId(),
      type: 'message',
      role: 'assistant',
      model: options.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    }
    return [{ type: 'message_start', message }]
  }
  const stopBlock = (): StreamEvent[] => {
    if (openBlock === undefined) return []
    const index = openBlock
    openBlock = undefined
    return [{ type: 'content_block_stop', index }]
  }
  const startBlock = (index: number, block: ContentBlock): StreamEvent[] => {
    const before = [...begin(), ...stopBlock()]
    openBlock = index
    return [...before, { type: 'content_block_start', index, content_block: block }]
  }
  const fill = (
    index: number,
    empty: ContentBlock,
    delta: Readonly<Record<string, unknown>>,
  ): StreamEvent[] => [
    ...(openBlock === index ? [] : startBlock(index, empty)),
    { type: 'content_block_delta', index, delta },
  ]

  const end = ({ stop_reason, stop_sequence, usage }: Reply): StreamEvent[] => {
    const before = stopBlock()
    isOpen = false
    return [
      ...before,
      { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
      { type: 'message_stop' },
    ]
  }

  const deltaEvents = (delta: ModelDelta): StreamEvent[] => {
    switch (delta.type) {
      case 'heartbeat':
        return []
      case 'block_started':
        return openBlock === delta.index ? [] : startBlock(delta.index, delta.block)
      case 'text':
        return fill(delta.index, { type: 'text', text: '' }, { type: 'text_delta', text: delta.text })
      case 'thinking':
        return fill(
          delta.index,
          { type: 'thinking', thinking: '', signature: '' },
          { type: 'thinking_delta', thinking: delta.text },
        )
      case 'input_json':
        return fill(
          delta.index,
          { type: 'tool_use', id: '', name: '', input: {} },
          { type: 'input_json_delta', partial_json: delta.json },
        )
      case 'restarted':
        isOpen = false
        openBlock = undefined
        return []
      case 'message':
        return [...begin(), ...end(delta.reply)]
    }
  }

  return { delta: deltaEvents, end: (reply) => (isOpen ? end(reply) : []) }
}
