import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createStreamEvents, type StreamEvent } from '../../src/cli/stream-events.ts'

const stream = () => createStreamEvents({ model: 'm', messageId: () => 'msg_x' })
const create = () => stream().delta
const MESSAGE = {
  type: 'message' as const,
  reply: {
    id: 'msg_1',
    type: 'message' as const,
    role: 'assistant' as const,
    model: 'm',
    content: [],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 2 },
  },
}
const typesOf = (events: readonly StreamEvent[]) => events.map((event) => event.type)

describe('the stream events of a reply', () => {
  it('begin, fill and end each block in order', () => {
    const next = create()
    const events = [
      { type: 'heartbeat' } as const,
      { type: 'block_started', index: 0, block: { type: 'text', text: '' } } as const,
      { type: 'text', index: 0, text: 'a' } as const,
      {
        type: 'block_started',
        index: 1,
        block: { type: 'tool_use', id: 't', name: 'Read', input: {} },
      } as const,
      { type: 'input_json', index: 1, json: '{"a"' } as const,
      MESSAGE,
    ].flatMap(next)
    expect(typesOf(events)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    expect(events[5]).toEqual({
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'input_json_delta', partial_json: '{"a"' },
    })
    expect(events[7]).toMatchObject({ delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } })
  })

  it('end with the reply when no message came among the deltas, and only once', () => {
    const { delta, end } = stream()
    delta({ type: 'text', index: 0, text: 'a' })
    expect(typesOf(end(MESSAGE.reply))).toEqual(['content_block_stop', 'message_delta', 'message_stop'])
    expect(end(MESSAGE.reply)).toEqual([])
  })

  it('begin anew after an attempt that broke', () => {
    const next = create()
    const events = [
      { type: 'text', index: 0, text: 'lost' } as const,
      { type: 'restarted', attempt: 2, delayMs: 1, reason: 'cut' } as const,
      { type: 'text', index: 0, text: 'kept' } as const,
    ].flatMap(next)
    expect(typesOf(events).filter((type) => type === 'message_start')).toHaveLength(2)
  })

  it('are well formed whatever deltas come', () => {
    const index = fc.nat({ max: 3 })
    const delta = fc.oneof(
      fc.record({ type: fc.constant('text' as const), index, text: fc.string() }),
      fc.record({ type: fc.constant('thinking' as const), index, text: fc.string() }),
      fc.record({ type: fc.constant('input_json' as const), index, json: fc.string() }),
      fc.record({
        type: fc.constant('block_started' as const),
        index,
        block: fc.constant({ type: 'text', text: '' }),
      }),
      fc.constant({ type: 'heartbeat' as const }),
      fc.constant(MESSAGE),
    )
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 30 }), (deltas) => {
        const stack: (string | number)[] = []
        for (const event of [...deltas, MESSAGE].flatMap(create())) {
          switch (event.type) {
            case 'message_start':
              expect(stack).toEqual([])
              stack.push('message')
              break
            case 'content_block_start':
              expect(stack).toEqual(['message'])
              stack.push(Number(event['index']))
              break
            case 'content_block_delta':
              expect(stack).toEqual(['message', event['index']])
              break
            case 'content_block_stop':
              expect(stack.pop()).toBe(event['index'])
              break
            case 'message_delta':
              expect(stack).toEqual(['message'])
              break
            case 'message_stop':
              expect(stack.pop()).toBe('message')
              break
          }
        }
        expect(stack).toEqual([])
      }),
      { numRuns: 100 },
    )
  })
})
