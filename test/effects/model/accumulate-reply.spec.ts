import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createReplyAccumulator, unparsedInput } from '../../../src/effects/model/accumulate-reply.ts'
import { ModelError } from '../../../src/effects/model/model.ts'
import type { Reply } from '../../../src/machines/agent/messages.ts'
import { eventsOfReply } from '../../helpers/messages-sse.ts'

type Event = Readonly<Record<string, unknown>>

const start: Event = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-test',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 7, output_tokens: 1, cache_read_input_tokens: null },
  },
}
const stop: readonly Event[] = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
  { type: 'message_stop' },
]
const blockEvents = (block: unknown, ...deltas: unknown[]): Event[] => [
  { type: 'content_block_start', index: 0, content_block: block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
  { type: 'content_block_stop', index: 0 },
]

function accumulate(events: readonly Event[]): Reply {
  const reply = createReplyAccumulator()
  for (const event of events) reply.accept(event)
  return reply.finish()
}

const accumulatedBlock = (block: unknown, ...deltas: unknown[]): unknown =>
  accumulate([start, ...blockEvents(block, ...deltas), ...stop]).content[0]

const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'grapheme', maxLength: 40 }) }),
  fc.record({ type: fc.constant('thinking'), thinking: fc.string(), signature: fc.string() }),
  fc.record({
    type: fc.constant('tool_use'),
    id: fc.string(),
    name: fc.string(),
    input: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
  }),
  fc.record({ type: fc.constant('redacted_thinking'), data: fc.string() }),
)

describe('a reply put together from a stream', () => {
  it('is the reply that was streamed, into however many deltas it was split', () => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 5 }), fc.integer({ min: 1, max: 20 }), (content, chunks) => {
        const reply: Reply = {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'claude-test',
          content: JSON.parse(JSON.stringify(content)) as Reply['content'],
          stop_reason: 'end_turn',
          stop_sequence: null,
          usage: { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 5 },
        }
        expect(accumulate(eventsOfReply(reply, chunks).map(({ data }) => data))).toEqual(reply)
      }),
      { numRuns: 100 },
    )
  })

  it('takes counts of usage as totals, later ones over earlier ones, and drops those that are null', () => {
    expect(accumulate([start, ...stop]).usage).toEqual({ input_tokens: 7, output_tokens: 9 })
  })

  it('keeps what it does not know: message fields, block types, and deltas field by field', () => {
    const reply = accumulate([
      start,
      ...blockEvents(
        { type: 'hologram', frames: [1], note: 'a', depth: 1 },
        { type: 'hologram_delta', frames: [2, 3], note: 'b', depth: 2, colour: 'red' },
      ),
      { type: 'message_delta', delta: { stop_reason: 'end_turn', container: { id: 'c' } } },
      { type: 'aurora' },
      { type: 'message_stop' },
    ])
    expect(reply.content).toEqual([
      { type: 'hologram', frames: [1, 2, 3], note: 'ab', depth: 2, colour: 'red' },
    ])
    expect(reply['container']).toEqual({ id: 'c' })
  })

  it('collects the citations of a text', () => {
    expect(
      accumulatedBlock(
        { type: 'text', text: '', citations: [] },
        { type: 'citations_delta', citation: { cited_text: 'a' } },
        { type: 'text_delta', text: 'hi' },
        { type: 'citations_delta', citation: { cited_text: 'b' } },
      ),
    ).toEqual({ type: 'text', text: 'hi', citations: [{ cited_text: 'a' }, { cited_text: 'b' }] })
  })

  it('does not double a signature that came with the start of its block', () => {
    expect(
      accumulatedBlock(
        { type: 'thinking', thinking: '', signature: 's' },
        { type: 'signature_delta', signature: 's' },
      ),
    ).toEqual({ type: 'thinking', thinking: '', signature: 's' })
  })

  it('reads no input, and empty input, as an empty object', () => {
    const tool = { type: 'tool_use', id: 't', name: 'Read' }
    const json = (partial_json: string): Event => ({ type: 'input_json_delta', partial_json })
    expect(accumulatedBlock(tool)).toEqual({ ...tool, input: {} })
    expect(accumulatedBlock({ ...tool, input: {} }, json(''))).toEqual({ ...tool, input: {} })
    expect(accumulatedBlock({ ...tool, input: { given: 'whole' } })).toEqual({
      ...tool,
      input: { given: 'whole' },
    })
  })

  it('keeps input that is no JSON object as text, so that the call fails and not the request', () => {
    for (const text of ['{"path": "/tm', '"a string"', '[1]', 'null']) {
      const tool = accumulatedBlock(
        { type: 'tool_use', id: 't', name: 'Read', input: {} },
        { type: 'input_json_delta', partial_json: text },
      ) as { input: unknown }
      expect(tool.input).toBeTypeOf('object')
      expect(unparsedInput(tool.input)).toBe(text)
    }
    expect(unparsedInput({ path: '/tmp' })).toBeUndefined()
  })

  it('is not whole before message_stop, and not without a reason to stop', () => {
    const events = [start, ...blockEvents({ type: 'text', text: 'hi' }), ...stop]
    for (let length = 0; length < events.length; length++) {
      expect(() => accumulate(events.slice(0, length))).toThrow(
        expect.objectContaining({ code: 'stream-cut' }),
      )
    }
    expect(() => accumulate([start, { type: 'message_stop' }])).toThrow('why it stopped')
  })

  it('refuses a delta for a block that never started, and a second start of the message', () => {
    const lost = { type: 'content_block_delta', index: 4, delta: { type: 'text_delta', text: 'x' } }
    expect(() => accumulate([start, lost])).toThrow('block 4, which has not started')
    expect(() => accumulate([start, start])).toThrow('second message_start')
  })

  it('refuses a message that lacks what a reply must have', () => {
    const nameless = { type: 'message_start', message: { id: 'msg_1' } }
    expect(() => accumulate([nameless, ...stop])).toThrow(/no valid message \(type/)
  })

  it('gives an error event by its type', () => {
    const codes = [
      'overloaded_error',
      'rate_limit_error',
      'invalid_request_error',
      'authentication_error',
      'new',
    ].map((type) => {
      try {
        createReplyAccumulator().accept({ type: 'error', error: { type, message: 'm' } })
        return undefined
      } catch (error) {
        return ModelError.is(error) ? [error.code, error.retryable] : error
      }
    })
    expect(codes).toEqual([
      ['overloaded', true],
      ['rate-limited', true],
      ['invalid-request', false],
      ['unauthorized', false],
      ['server', true],
    ])
  })
})
