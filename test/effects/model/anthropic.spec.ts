import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/effects/clock.ts'
import { createAnthropicModel } from '../../../src/effects/model/anthropic.ts'
import { createProviderGate } from '../../../src/effects/model/gate.ts'
import type { Model, ModelDelta } from '../../../src/effects/model/model.ts'
import { collect } from '../../../src/effects/model/reply-stream.ts'
import { withRetries } from '../../../src/effects/model/retrying.ts'
import { buildReply, type ScriptedParts } from '../../../src/effects/model/scripted-reply.ts'
import {
  apiError,
  hangUp,
  type MessagesServer,
  type ServerScript,
  type StreamShape,
  startMessagesServer,
  streamed,
  textReply,
  toolReply,
  wholeAnswer,
} from '../../helpers/messages-server.ts'
import { cutAt, encodeEvents, eventsOfReply, wire } from '../../helpers/messages-sse.ts'
import { createVirtualClock } from '../../helpers/virtual-clock.ts'
import { aRequest, modelErrorOf, never, watch } from './requests.ts'

const rich: ScriptedParts = {
  thinking: 'Hm… naïve? «ja»',
  text: 'Grüße 🌍, 日本\nzwei Zeilen\r\nund "Zitate"',
  calls: [
    { name: 'Read', input: { path: 'ü/ñ.ts', lines: [1, 2] } },
    { name: 'Ls', input: {} },
  ],
}

/** A server with `script` and a model that uses it, for the time of `use`. */
async function withServer(
  script: ServerScript,
  use: (server: MessagesServer, model: Model) => Promise<void>,
): Promise<void> {
  await using server = await startMessagesServer(script)
  await use(server, createAnthropicModel({ env: server.env }))
}

const ask = (model: Model, onDelta?: (delta: ModelDelta) => void) =>
  collect(model.stream(aRequest(), never), never, onDelta)

describe('a request to the Messages API', () => {
  it('says what the request says and nothing more, with key, version and cache marks', async () => {
    await withServer(['hi'], async ({ requests }, model) => {
      await collect(model.stream(aRequest({ maxTokens: 77 }), never), never)
      expect(requests[0]?.headers).toMatchObject({
        authorization: 'Bearer test-key',
        'x-api-key': 'test-key',
        'anthropic-version': expect.any(String),
      })
      expect(requests[0]?.body).toEqual({
        model: 'claude-test',
        max_tokens: 77,
        stream: true,
        system: [{ type: 'text', text: 'You are a test.', cache_control: { type: 'ephemeral' } }],
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'hello', cache_control: { type: 'ephemeral' } }] },
        ],
      })
    })
  })

  it('forces the tool that it must call, once, and thinks of nothing beside it', async () => {
    await withServer(['hi', 'hi'], async ({ requests }, model) => {
      const forced = aRequest({ toolChoice: { name: 'verdict' }, effort: 2_000, maxTokens: 4_000 })
      await collect(model.stream(forced, never), never)
      expect(requests[0]?.body).toMatchObject({
        tool_choice: { type: 'tool', name: 'verdict', disable_parallel_tool_use: true },
      })
      expect(requests[0]?.body).not.toHaveProperty('thinking')
      await ask(model)
      expect(requests[1]?.body).not.toHaveProperty('tool_choice')
    })
  })

  it('carries no marks when they are off, a token for a token, and headers of the host', async () => {
    await withServer(['hi'], async ({ url, requests }) => {
      const model = createAnthropicModel({
        authToken: 'token\n',
        baseURL: url,
        env: { ANTHROPIC_API_KEY: 'not this one' },
        headers: { 'x-tenant': 'blue' },
        cacheMarks: false,
      })
      await ask(model)
      expect(requests[0]?.headers).toMatchObject({ authorization: 'Bearer token', 'x-tenant': 'blue' })
      expect(requests[0]?.headers['x-api-key']).toBeUndefined()
      expect(requests[0]?.body).toMatchObject({
        system: 'You are a test.',
        messages: [{ role: 'user', content: 'hello' }],
      })
    })
  })

  it('is not made without credentials: the error says what to set', async () => {
    const error = await modelErrorOf(ask(createAnthropicModel({ env: { ANTHROPIC_API_KEY: ' ' } })))
    expect([error.code, error.retryable]).toEqual(['unauthorized', false])
    expect(error.message).toContain('ANTHROPIC_API_KEY')
  })

  it('is tried without a key at a server of the user’s own', async () => {
    await withServer(['hi'], async ({ url }) => {
      const { reply } = await ask(createAnthropicModel({ env: { ANTHROPIC_BASE_URL: url } }))
      expect(reply.content).toEqual([{ type: 'text', text: 'hi' }])
    })
  })

  it('is not made to what is no URL', async () => {
    const error = await modelErrorOf(ask(createAnthropicModel({ apiKey: 'k', baseURL: 'localhost' })))
    expect([error.code, error.retryable]).toEqual(['invalid-request', false])
    expect(error.message).toContain('"localhost" is no URL')
  })

  it('is one of its provider: servers apart have gates apart', () => {
    const providers = [undefined, 'http://127.0.0.1:8080', 'https://api.anthropic.com'].map(
      (ANTHROPIC_BASE_URL) => createAnthropicModel({ apiKey: 'k', env: { ANTHROPIC_BASE_URL } }).provider,
    )
    expect(providers).toEqual(['anthropic', 'anthropic:127.0.0.1:8080', 'anthropic'])
  })

  it('is sent once for each subscription, over connections that are used again', async () => {
    await withServer(['1', '2', '3', '4', '5'], async (server, model) => {
      const stream = model.stream(aRequest(), never)
      expect(server.requests).toHaveLength(0)
      for (let i = 1; i <= 5; i++) {
        await collect(stream, never)
        expect(server.requests).toHaveLength(i)
      }
      // Two, because the next request may be there before the end of the last body.
      expect(server.connections).toBeLessThanOrEqual(2)
    })
  })
})

describe('a streamed reply', () => {
  it('comes as deltas, then as one message with the id of the request', async () => {
    await withServer([streamed(rich)], async ({ requests }, model) => {
      const deltas: ModelDelta[] = []
      const { reply, requestId } = await ask(model, (delta) => deltas.push(delta))
      const expected = buildReply(rich, {
        ...aRequest({ messages: requests[0]?.body.messages ?? [] }),
        source: 'http',
      })
      expect([reply, requestId]).toEqual([expected, 'req_0'])
      const joined = (type: string, field: 'text' | 'json'): string =>
        deltas
          .map((delta) => (delta.type === type && field in delta ? Reflect.get(delta, field) : ''))
          .join('')
      expect(joined('thinking', 'text')).toBe(rich.thinking)
      expect(joined('text', 'text')).toBe(rich.text)
      expect(joined('input_json', 'json')).toBe('{"path":"ü/ñ.ts","lines":[1,2]}{}')
      expect(deltas.filter(({ type }) => type === 'block_started')).toHaveLength(4)
      expect(deltas.slice(0, 2)).toEqual([{ type: 'heartbeat' }, { type: 'heartbeat' }])
    })
  })

  it('is the same wherever its bytes are cut', async () => {
    const expected = buildReply(rich, aRequest())
    const bytes = ['\n', '\r\n'].map((lineEnd) => encodeEvents(eventsOfReply(expected), lineEnd))
    const position = fc.nat({ max: Math.max(...bytes.map(({ length }) => length)) })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...bytes),
        fc.oneof(fc.array(position, { maxLength: 40 }), fc.constant('everywhere' as const)),
        async (whole, borders) => {
          const chunks = cutAt(whole, borders === 'everywhere' ? [...whole.keys()] : borders)
          const model = createAnthropicModel({ apiKey: 'k', env: {}, fetch: async () => eventStream(chunks) })
          expect((await ask(model)).reply).toEqual(expected)
        },
      ),
      { numRuns: 40 },
    )
  })

  it('is the same when a real socket brings it in small pieces', async () => {
    const shape: StreamShape = { chunks: 7, chunkMs: 0, lineEnd: '\r\n' }
    await withServer([streamed(rich, shape)], async (_, model) => {
      const { reply } = await ask(model)
      expect(reply.content[1]).toEqual({ type: 'text', text: rich.text })
    })
  })

  it('is read also when only the data say what an event is', async () => {
    const whole = encodeEvents(eventsOfReply(buildReply('plain', aRequest()))).toString()
    const bare = whole.replace(/^event: .*\n/gm, '').concat('data: [DONE]\n\n')
    const model = createAnthropicModel({
      apiKey: 'k',
      env: {},
      fetch: async () => eventStream([Buffer.from(bare)]),
    })
    expect((await ask(model)).reply.content).toEqual([{ type: 'text', text: 'plain' }])
  })

  it('gives a heartbeat for each ping', async () => {
    await withServer([textReply('x', { silentAfterEvents: 4, pingMs: 1 })], async (_, model) => {
      const seen = watch(model.stream(aRequest(), never))
      await seen.has(8)
      expect(seen.deltas.slice(4).every(({ type }) => type === 'heartbeat')).toBe(true)
      seen.unsubscribe()
    })
  })

  it('is complete without waiting for the end of the body, which is cut when it does not come', async () => {
    const clock = createVirtualClock()
    let cancelled = false
    const endless = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(encodeEvents(eventsOfReply(buildReply('x', aRequest())))),
      cancel: () => {
        cancelled = true
      },
    })
    // As the real one does, this fetch ends the body when its request is aborted.
    const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
      const through = new TransformStream<Uint8Array, Uint8Array>()
      void endless.pipeTo(through.writable, init?.signal ? { signal: init.signal } : {}).catch(() => {})
      return eventStream(through.readable)
    }
    await ask(createAnthropicModel({ apiKey: 'k', env: {}, clock, fetch }))
    expect([clock.pending, cancelled]).toEqual([1, false])
    await clock.runAllAsync()
    expect([clock.pending, cancelled]).toEqual([0, true])
  })
})

describe('what can go wrong', () => {
  const cases: readonly [string, ServerScript, { code: string; retryable: boolean; status?: number }][] = [
    ['400', [apiError(400)], { code: 'invalid-request', retryable: false, status: 400 }],
    ['401', [apiError(401)], { code: 'unauthorized', retryable: false, status: 401 }],
    ['403', [apiError(403)], { code: 'unauthorized', retryable: false, status: 403 }],
    ['404', [apiError(404)], { code: 'invalid-request', retryable: false, status: 404 }],
    ['413', [apiError(413)], { code: 'context-exceeded', retryable: false, status: 413 }],
    ['408', [apiError(408)], { code: 'server', retryable: true, status: 408 }],
    ['409', [apiError(409)], { code: 'server', retryable: true, status: 409 }],
    ['429', [apiError(429)], { code: 'rate-limited', retryable: true, status: 429 }],
    ['500', [apiError(500)], { code: 'server', retryable: true, status: 500 }],
    [
      '503',
      [apiError(503, { type: 'overloaded_error' })],
      { code: 'overloaded', retryable: true, status: 503 },
    ],
    ['529', [apiError(529)], { code: 'overloaded', retryable: true, status: 529 }],
    [
      '429 that must not be retried',
      [apiError(429, { headers: { 'x-should-retry': 'false' } })],
      { code: 'rate-limited', retryable: false, status: 429 },
    ],
    [
      '502 of a proxy',
      [wholeAnswer(502, 'text/html', '<h1>Bad')],
      { code: 'server', retryable: true, status: 502 },
    ],
    ['a page', [wholeAnswer(200, 'text/html', '<h1>Hi')], { code: 'invalid-request', retryable: false }],
    ['a socket closed without an answer', [hangUp], { code: 'connection', retryable: true }],
    [
      'a cut before the first event',
      [textReply('x', { cutAfterEvents: 0 })],
      { code: 'stream-cut', retryable: true },
    ],
    ['a cut in the middle', [textReply('x', { cutAfterEvents: 4 })], { code: 'stream-cut', retryable: true }],
    ['an early end', [textReply('x', { endAfterEvents: 4 })], { code: 'stream-cut', retryable: true }],
    [
      'an end before message_stop',
      [textReply('x', { endAfterEvents: 6 })],
      { code: 'stream-cut', retryable: true },
    ],
    [
      'an error event',
      [
        textReply('x', {
          events: [
            ...eventsOfReply(buildReply('x', aRequest())).slice(0, 4),
            wire({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
          ],
        }),
      ],
      { code: 'overloaded', retryable: true },
    ],
  ]
  for (const [what, script, expected] of cases) {
    it(`${what} is ${expected.code}, ${expected.retryable ? 'worth another attempt' : 'final'}`, async () => {
      await withServer(script, async (server, model) => {
        expect(await modelErrorOf(ask(model))).toMatchObject(expected)
        expect(server.requests).toHaveLength(1)
      })
    })
  }

  it('says who answered what, in the words of the API', async () => {
    await withServer([apiError(400, { message: 'messages: too many' })], async ({ url }, model) => {
      const error = await modelErrorOf(ask(model))
      const host = new URL(url).host
      expect(error.message).toBe(`${host} answered 400 invalid_request_error: messages: too many`)
    })
  })

  it('carries what the server asks for in retry-after', async () => {
    const script = [apiError(429, { headers: { 'retry-after': '7' } })]
    await withServer(script, async (_, model) => {
      expect(await modelErrorOf(ask(model))).toMatchObject({ retryAfterMs: 7_000 })
    })
  })

  it('names the reason when nobody listens', async () => {
    const server = await startMessagesServer([])
    await server.close()
    const error = await modelErrorOf(ask(createAnthropicModel({ env: server.env })))
    expect(error).toMatchObject({ code: 'connection', retryable: true })
    expect(error.message).toMatch(/^cannot reach 127\.0\.0\.1:\d+: .*ECONNREFUSED/)
  })

  it('is overcome by retries, with one message at the end', async () => {
    const script = [
      apiError(529),
      hangUp,
      textReply('no', { cutAfterEvents: 5 }),
      toolReply('Read', { path: 'a' }),
    ]
    await withServer(script, async (server, model) => {
      const patient = withRetries(model, {
        gate: createProviderGate({ clock: systemClock, random: Math.random, baseDelayMs: 1 }),
        clock: systemClock,
        random: Math.random,
        options: { baseDelayMs: 1 },
      })
      const restarts: string[] = []
      const { reply } = await ask(
        patient,
        (delta) => delta.type === 'restarted' && restarts.push(delta.reason),
      )
      expect(reply.content).toMatchObject([{ type: 'tool_use', name: 'Read', input: { path: 'a' } }])
      expect([server.requests.length, restarts.length]).toEqual([4, 3])
    })
  })
})

describe('ending a request', () => {
  const stages: readonly [string, StreamShape, number][] = [
    ['before the answer', { firstByteMs: 60_000 }, 0],
    ['after the headers', { silentAfterEvents: 0, pingMs: 60_000 }, 0],
    ['in the middle of the reply', { silentAfterEvents: 5, pingMs: 60_000 }, 5],
  ]
  for (const [stage, shape, deltas] of stages) {
    it(`${stage} closes its connection, by the signal and by unsubscribing alike`, async () => {
      await withServer([textReply('x', shape), textReply('x', shape)], async (server, model) => {
        const abort = new AbortController()
        const aborted = watch(model.stream(aRequest(), abort.signal))
        const left = watch(model.stream(aRequest(), never))
        await server.received(2)
        await Promise.all([aborted.has(deltas), left.has(deltas)])
        expect([aborted.deltas.length, left.deltas.length]).toEqual([deltas, deltas])
        abort.abort('stop')
        left.unsubscribe()
        expect([aborted.errors, left.errors]).toEqual([['stop'], []])
        await server.settled()
        expect(server.requests.map(({ state }) => state)).toEqual(['aborted', 'aborted'])
        // What `fetch` may open anew in their stead is idle, and gone after its keep-alive of four seconds.
      })
    })
  }

  it('before it is sent sends nothing', async () => {
    await withServer([], async (server, model) => {
      const abort = new AbortController()
      const seen = watch(model.stream(aRequest(), abort.signal))
      abort.abort('stop')
      const early = watch(model.stream(aRequest(), abort.signal))
      expect([seen.errors, early.errors]).toEqual([['stop'], ['stop']])
      await new Promise((resolve) => setImmediate(resolve))
      expect(server.connections).toBe(0)
    })
  })
})

/** An answer whose body comes in just these chunks. */
const eventStream = (chunks: Iterable<Uint8Array> | ReadableStream<Uint8Array>): Response =>
  new Response(chunks instanceof ReadableStream ? chunks : ReadableStream.from(chunks), {
    headers: { 'content-type': 'text/event-stream' },
  })
