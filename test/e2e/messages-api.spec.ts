/** The built program against a server of the Messages API on the loopback: good, slow, cut, overloaded. */
import { describe, expect, it } from 'vitest'
import {
  apiError,
  hangUp,
  type MessagesServer,
  type ServerAnswer,
  type ServerScript,
  type StreamShape,
  startMessagesServer,
  streamed,
  textReply,
  toolReply,
} from '../helpers/messages-server.ts'
import { violations } from './support/conversation.ts'
import {
  createPlace,
  type Finished,
  type Json,
  jsonLines,
  type Place,
  type Variables,
} from './support/program.ts'

const TEXT = 'Grüße 🌍, 日本\nzwei Zeilen\tund "Zitate" \\ {"a":1}'

/** Runs the program once against a script. */
async function ask(
  answers: ServerScript,
  {
    env = {},
    args = [],
    use,
  }: {
    readonly env?: Variables
    readonly args?: readonly string[]
    readonly use?: (asked: Asked) => Promise<void> | void
  } = {},
): Promise<Asked> {
  await using place = createPlace({ 'notes.txt': TEXT })
  await using server = await startMessagesServer(answers)
  const end = await place.troupe(['-p', 'hello', ...args], { env: { ...server.env, ...env } })
  const asked = { ...end, server, place }
  await use?.(asked)
  return asked
}

interface Asked extends Finished {
  readonly server: MessagesServer
  readonly place: Place
}

describe.concurrent('a reply', () => {
  const shapes: Record<string, StreamShape> = {
    'byte by byte': { chunks: 1 },
    'in one piece': { chunks: 1_000_000 },
    'in pieces of seven bytes, a moment apart': { chunks: 7, chunkMs: 1 },
    'with the line ends of another system': { chunks: 11, lineEnd: '\r\n' },
  }
  it.each(Object.entries(shapes))('is read whole when it comes %s', async (_, shape) => {
    const { code, stdout, server } = await ask([
      toolReply('Read', { file_path: 'notes.txt' }, shape),
      streamed({ thinking: 'Hm… naïve?', text: TEXT }, shape),
    ])
    expect(stdout).toBe(`${TEXT}\n`)
    expect(code).toBe(0)
    expect(JSON.stringify(server.requests[1]?.body.messages.at(-1))).toContain('Grüße 🌍')
    expect(violations(server.requests)).toEqual([])
  })

  it('that comes slowly is waited for as long as it comes', async () => {
    // All of it takes longer than the gap that may be between two parts of it.
    const slow = textReply(TEXT, { chunkMs: 300, firstByteMs: 100 })
    const { code, stdout, server } = await ask([slow], { env: { TROUPE_GAP_MS: '1800' } })
    expect([code, stdout, server.requests.length]).toEqual([0, `${TEXT}\n`, 1])
  })

  it('is shown while it is written, when that is asked for', async () => {
    const { stdout } = await ask([textReply(TEXT)], {
      args: ['--output-format', 'stream-json', '--include-partial-messages'],
    })
    const events = jsonLines(stdout)
      .filter(({ type }) => type === 'stream_event')
      .map(({ event }) => event as Json) // The field of every line of this type.
    expect(events[0]).toMatchObject({ type: 'message_start' })
    expect(events.at(-1)).toMatchObject({ type: 'message_stop' })
    const deltas = events
      .filter(({ type }) => type === 'content_block_delta')
      .map(({ delta }) => delta as Json)
    expect(deltas.length).toBeGreaterThan(1)
    expect(deltas.map(({ text }) => text).join('')).toBe(TEXT)
  })
})

describe.concurrent('a request that is refused for good', () => {
  it.each([
    [400, /answered 400 invalid_request_error: the server says 400/],
    [401, /answered 401 authentication_error: .*Check ANTHROPIC_API_KEY/],
    [404, /answered 404 not_found_error/],
    [413, /answered 413 request_too_large/],
  ])('with %d is not repeated: one line says why, exit 1', async (status, reason) => {
    const { code, stdout, stderr, server } = await ask(() => apiError(status))
    expect([code, stdout, server.requests.length]).toEqual([1, '', 1])
    expect(stderr).toMatch(reason)
    expect(stderr).not.toMatch(/\n\s+at /)
  })

  it('is an error result in the formats for programs', async () => {
    await ask(() => apiError(400), {
      args: ['--output-format', 'json'],
      use({ code, stdout }) {
        expect(code).toBe(1)
        expect(JSON.parse(stdout)).toMatchObject({
          type: 'result',
          subtype: 'error_during_execution',
          is_error: true,
          result: '',
          errors: [expect.stringContaining('the server says 400')],
        })
      },
    })
  })
})

describe.concurrent('a request that fails for now', () => {
  const troubles: Record<string, ServerAnswer> = {
    '529, overloaded': apiError(529),
    '500, an error of the server': apiError(500),
    'a stream that is cut in the middle': textReply(TEXT, { cutAfterEvents: 4 }),
    'a stream that ends in the middle': textReply(TEXT, { endAfterEvents: 4 }),
    'a connection that is dropped': hangUp,
    'an error within the stream': textReply('', {
      events: [
        { event: 'error', data: { type: 'error', error: { type: 'overloaded_error', message: 'busy' } } },
      ],
    }),
  }
  it.each(Object.entries(troubles))('(%s) is sent again, and the answer is whole', async (_, trouble) => {
    const { code, stdout, stderr, server } = await ask([trouble, textReply(TEXT)])
    expect([code, stdout], stderr).toEqual([0, `${TEXT}\n`])
    const [first, second, ...more] = server.requests
    expect(more).toEqual([])
    expect(second?.body).toEqual(first?.body)
  })

  it('(429 with a time to wait) is sent again, and not before', async () => {
    const limited = apiError(429, { headers: { 'retry-after': '1' } })
    const { code, stdout, server } = await ask([limited, 'hi'])
    expect([code, stdout]).toEqual([0, 'hi\n'])
    const [first, second] = server.requests.map(({ at }) => at)
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1_000)
  })

  const silences: [string, StreamShape, Variables][] = [
    ['nothing comes at all', { firstByteMs: 60_000 }, { TROUPE_FIRST_BYTE_MS: '1200' }],
    ['only pings come', { silentAfterEvents: 4 }, { TROUPE_GAP_MS: '1200' }],
  ]
  it.each(silences)('because %s is given up and sent again', async (_, shape, env) => {
    const { code, stdout, server } = await ask([textReply('never', shape), textReply(TEXT)], { env })
    expect([code, stdout, server.requests.length]).toEqual([0, `${TEXT}\n`, 2])
    expect(server.requests[0]?.state).toBe('aborted')
  })

  it('too often fails the run, and the session goes on with the next prompt', async () => {
    const cut = textReply(TEXT, { cutAfterEvents: 4 })
    await ask([toolReply('Read', { file_path: 'notes.txt' }), cut, cut, cut, textReply('and now it does')], {
      env: { TROUPE_MAX_RETRIES: '2' },
      args: ['--output-format', 'json'],
      async use({ code, stdout, stderr, server, place }) {
        expect(code).toBe(1)
        expect(stderr).toMatch(/gave up after 3 attempts .*broke/)
        const { session_id, subtype } = JSON.parse(stdout)
        expect(subtype).toBe('error_during_execution')

        const replay = await place.troupe(['replay', session_id, '--json'])
        expect(replay.code, replay.stdout).toBe(0)
        expect(jsonLines(replay.stdout)).toMatchObject([{ sound: true, agent: { phase: 'failed' } }])

        const next = await place.troupe(['-r', session_id, '-p', 'try again'], { env: server.env })
        expect([next.code, next.stdout], next.stderr).toEqual([0, 'and now it does\n'])
        const last = server.requests.at(-1)?.body.messages ?? []
        expect(JSON.stringify(last)).toContain('Grüße 🌍')
        expect(JSON.stringify(last.at(-1))).toContain('try again')
        expect(violations(server.requests)).toEqual([])
      },
    })
  })

  it('is not tried twice when no retries are wanted', async () => {
    const { code, server } = await ask(() => apiError(500), { env: { TROUPE_MAX_RETRIES: '0' } })
    expect([code, server.requests.length]).toEqual([1, 1])
  })
})
