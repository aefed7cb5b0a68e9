/** The Messages API client over a server that sends anything. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAnthropicModel } from '../../src/effects/model/anthropic.ts'
import type { ModelDelta } from '../../src/effects/model/model.ts'
import { ModelError } from '../../src/effects/model/model.ts'
import { collect } from '../../src/effects/model/reply-stream.ts'
import { Reply } from '../../src/machines/agent/messages.ts'
import { anyReply } from '../helpers/arbitraries.ts'
import { cutAt, encodeEvents, eventsOfReply } from '../helpers/messages-sse.ts'
import { createVirtualClock } from '../helpers/virtual-clock.ts'
import { expectLinear, fuzz, goodInputs, sizeOf } from './support/fuzz.ts'
import { mutated, mutatedText } from './support/mutations.ts'

const CODES = [
  ...['connection', 'internal', 'invalid-request', 'overloaded', 'rate-limited', 'server', 'stream-cut'],
  'unauthorized',
]

interface Answer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly chunks: readonly Uint8Array[]
  /** What the connection does behind the last chunk. */
  readonly end: 'close' | 'break' | 'stay'
}

/** `onWaiting` is called when everything was read of a connection that stays open, and more is asked for. */
function responseOf(
  { status, headers, chunks, end }: Answer,
  signal: AbortSignal | null | undefined,
  onWaiting: () => void,
): Response {
  let next = 0
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        signal?.addEventListener('abort', () => {
          try {
            controller.error(signal.reason)
          } catch {
            // It has ended already.
          }
        })
      },
      pull: (controller) => {
        const chunk = chunks[next++]
        if (chunk !== undefined) controller.enqueue(chunk)
        else if (end === 'break') controller.error(new TypeError('terminated'))
        else if (end === 'close') controller.close()
        else {
          onWaiting()
          return new Promise(() => {})
        }
        return undefined
      },
    },
    // Nothing is pulled that nobody has asked for.
    { highWaterMark: 0 },
  )
  return new Response(status === 204 || status === 304 ? null : body, { status, headers })
}

/** Asks once; the message, or what was thrown instead. A connection that stays open is given up by us. */
async function ask(answer: Answer) {
  const clock = createVirtualClock()
  const deltas: ModelDelta[] = []
  const abort = new AbortController()
  const gaveUp = new Error('given up by the test')
  const model = createAnthropicModel({
    apiKey: 'k',
    baseURL: 'http://fuzz.test',
    env: {},
    clock,
    fetch: async (_, init) => responseOf(answer, init?.signal, () => abort.abort(gaveUp)),
  })
  const request = {
    ...{ model: 'm', system: '', tools: [], maxTokens: 1, source: 'main' },
    messages: [{ role: 'user' as const, content: 'go' }],
  }
  const outcome = collect(
    model.stream(request, abort.signal),
    abort.signal,
    (delta) => void deltas.push(delta),
  )
  const ended = await outcome.then(
    ({ reply }) => ({ reply, error: undefined }),
    (error: unknown) => ({ reply: undefined, error }),
  )
  // Nothing may be left waiting for the rest of a body.
  clock.advance(10_000)
  return { ...ended, deltas, wasGivenUp: ended.error === gaveUp }
}

const anyStream: fc.Arbitrary<Buffer> = fc
  .tuple(goodInputs(anyReply), fc.constantFrom('\n', '\r\n', '\r'))
  .map(([reply, lineEnd]) => encodeEvents(eventsOfReply(reply), lineEnd))

const anyAnswer: fc.Arbitrary<Answer> = fc
  .record({
    status: fc.oneof(
      { weight: 8, arbitrary: fc.constant(200) },
      fc.constantFrom(201, 204, 206, 400, 401, 429, 500, 529),
    ),
    headers: fc.oneof(
      { weight: 6, arbitrary: fc.constant({ 'content-type': 'text/event-stream' }) },
      fc.constantFrom<Record<string, string>>(
        {},
        { 'content-type': 'application/json' },
        { 'content-type': 'text/html', 'retry-after': '1e999' },
        { 'content-type': 'text/event-stream', 'retry-after': '-1', 'x-should-retry': 'perhaps' },
        { 'retry-after-ms': '99999999999999999999', 'x-should-retry': 'true' },
      ),
    ),
    bytes: fc.oneof(
      { weight: 8, arbitrary: mutated(anyStream) },
      fc.uint8Array({ maxLength: 200 }).map(Buffer.from),
    ),
    borders: fc.array(fc.nat(4_000), { maxLength: 4 }),
    end: fc.constantFrom(
      'close' as const,
      'close' as const,
      'close' as const,
      'break' as const,
      'stay' as const,
    ),
  })
  .map(({ bytes, borders, ...rest }) => ({ ...rest, chunks: cutAt(bytes, borders) }))

describe('whatever a server sends', () => {
  fuzz('a request ends in a valid message or a ModelError that is known', 120, anyAnswer, async (answer) => {
    const { reply, error, wasGivenUp } = await ask(answer)
    if (reply !== undefined) {
      expect(Reply.safeParse(reply).error).toBeUndefined()
      expect(Object.getPrototypeOf(reply)).toBe(Object.prototype)
      return
    }
    if (wasGivenUp) {
      expect(answer.end, 'only an open connection may leave a request without an end').toBe('stay')
      return
    }
    if (!ModelError.is(error)) throw error
    expect(CODES).toContain(error.code)
    expect(error.message).not.toBe('')
    expect(typeof error.retryable).toBe('boolean')
  })

  const errorType = fc.oneof(
    fc.constantFrom('__proto__', 'constructor', 'toString', 'overloaded_error', 'hasOwnProperty', ''),
    mutatedText(fc.constantFrom('overloaded_error', 'rate_limit_error')),
  )
  fuzz('an error of any type has a code of ours', 30, errorType, async (type) => {
    const event = { event: 'error', data: { type: 'error', error: { type, message: 'm' } } }
    const headers = { 'content-type': 'text/event-stream' }
    const { error } = await ask({ status: 200, headers, chunks: [encodeEvents([event])], end: 'close' })
    if (!ModelError.is(error)) throw error
    expect(CODES).toContain(error.code)
    expect(typeof error.retryable).toBe('boolean')
  })
})

describe('time for reading a stream', () => {
  const delta = (index: number, fields: object): string =>
    `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index, delta: fields })}\n\n`
  const start = (index: number, fields: object): string =>
    `event: content_block_start\ndata: ${JSON.stringify({ type: 'content_block_start', index, content_block: fields })}\n\n`
  const repeated = (size: number, text: string): string => text.repeat(Math.ceil(size / text.length))

  const text = start(0, { type: 'text', text: '' })
  const input = start(0, { type: 'tool_use', id: 'i', name: 'n', input: {} })
  const SHAPES: Readonly<Record<string, (size: number) => string>> = {
    pings: (size) => repeated(size, 'event: ping\ndata: {}\n\n'),
    'one line without an end': (size) => `data: ${'x'.repeat(size)}`,
    'lines that say nothing': (size) => repeated(size, ':\n'),
    'fields without an event': (size) => repeated(size, 'data: x\n'),
    'carriage returns': (size) => repeated(size, '\r'),
    'a text in tiny pieces': (size) => text + repeated(size, delta(0, { type: 'text_delta', text: 'x' })),
    'citations one by one': (size) =>
      text + repeated(size, delta(0, { type: 'citations_delta', citation: {} })),
    'a list of a kind that is not known': (size) => text + repeated(size, delta(0, { type: 'x', list: [1] })),
    'an input in tiny pieces': (size) =>
      input + repeated(size, delta(0, { type: 'input_json_delta', partial_json: '[' })),
  }
  it('grows with its length only', async () => {
    const headers = { 'content-type': 'text/event-stream' }
    const begun = 'event: message_start\ndata: {"type":"message_start","message":{}}\n\n'
    await expectLinear(
      sizeOf(300_000, 3_000_000),
      Object.keys(SHAPES),
      (shape, size) => Buffer.from(begun + (SHAPES[shape]?.(size) ?? '')),
      (bytes) => ask({ status: 200, headers, chunks: cutAt(bytes, [1_000, 50_000]), end: 'close' }),
    )
  })
})
