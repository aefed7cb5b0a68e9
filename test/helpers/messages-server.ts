/**
 * A server on the loopback that speaks the Messages API, as well or as badly as a test wants.
 *
 *     await using server = await startMessagesServer([textReply('hello'), apiError(529)])
 *     createAnthropicModel({ env: server.env })         // in this process, or
 *     spawn('node', [cli], { env: { ...process.env, ...server.env } })   // in another one
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { ModelRequest, RequestMessage } from '../../src/effects/model/model.ts'
import {
  buildReply,
  call,
  type ScriptedCall,
  type ScriptedParts,
} from '../../src/effects/model/scripted-reply.ts'
import type { Reply } from '../../src/machines/agent/messages.ts'
import { createBell } from './bell.ts'
import { cutAt, encodeEvents, eventsOfReply, type WireEvent } from './messages-sse.ts'

/** How a reply is streamed. All of it may be left out: a well-behaved server. */
export interface StreamShape {
  /** Milliseconds before anything is sent, headers included. */
  readonly firstByteMs?: number
  /** Where the bytes are cut into chunks: a chunk size, or positions. Default: one chunk per event. */
  readonly chunks?: number | readonly number[]
  /** Milliseconds between chunks. 0 hands each chunk to the socket by itself. Default: none, as fast as it goes. */
  readonly chunkMs?: number
  /** Sends so many events and destroys the socket. */
  readonly cutAfterEvents?: number
  /** Sends so many events and ends the body as if that were all. */
  readonly endAfterEvents?: number
  /** Sends so many events, and from then on pings only, until the client goes. */
  readonly silentAfterEvents?: number
  /** Milliseconds between the pings of a silent stream. Default 20. */
  readonly pingMs?: number
  /** Events that replace those of the reply. */
  readonly events?: readonly WireEvent[]
  readonly lineEnd?: '\n' | '\r\n'
  readonly headers?: Readonly<Record<string, string>>
}

/** What the server does with one request. */
export type ServerAnswer =
  | { readonly kind: 'stream'; readonly reply: string | ScriptedParts | Reply; readonly shape: StreamShape }
  | {
      readonly kind: 'whole'
      readonly status: number
      readonly body: string
      readonly headers: Readonly<Record<string, string>>
    }
  /** Destroys the socket without an answer. */
  | { readonly kind: 'hang-up' }

export interface ReceivedRequest {
  readonly index: number
  readonly body: MessagesBody
  readonly headers: IncomingHttpHeaders
  /** Milliseconds since the epoch. */
  readonly at: number
  /** How the exchange ended: still on, answered to the end, or left by the client. */
  readonly state: 'open' | 'answered' | 'aborted'
}

/** The fields of a request's body that tests look at. */
export interface MessagesBody {
  readonly model: string
  readonly messages: readonly RequestMessage[]
  readonly [field: string]: unknown
}

/** Answers by a function of the request, or in the order of a list; a list that is used up answers 400. */
export type ServerScript =
  | ((request: ReceivedRequest) => ServerAnswer | string | Promise<ServerAnswer | string>)
  | readonly (ServerAnswer | string)[]

export interface MessagesServer extends AsyncDisposable {
  readonly url: string
  /** What a client needs in its environment. */
  readonly env: { readonly ANTHROPIC_BASE_URL: string; readonly ANTHROPIC_API_KEY: string }
  readonly requests: readonly ReceivedRequest[]
  readonly openSockets: number
  /** How many connections were ever made. */
  readonly connections: number
  /** Resolves when `count` requests have come in all. */
  received(count: number): Promise<void>
  /** Resolves when none of them is open any more. */
  settled(): Promise<void>
  /** Ends everything at once; what clients wait for breaks. */
  close(): Promise<void>
}

/** A reply of one text. */
export const textReply = (text: string, shape: StreamShape = {}): ServerAnswer => streamed({ text }, shape)

/** A reply that calls one tool. */
export const toolReply = (
  name: string,
  input: ScriptedCall['input'],
  shape: StreamShape = {},
): ServerAnswer => streamed(call(name, input), shape)

/** Any reply, in any shape. */
export const streamed = (reply: string | ScriptedParts | Reply, shape: StreamShape = {}): ServerAnswer => ({
  kind: 'stream',
  reply,
  shape,
})

/** An error answer with a body as the API has it. */
export function apiError(
  status: number,
  {
    type = TYPES[status] ?? 'api_error',
    message = `the server says ${status}`,
    headers = {},
  }: { readonly type?: string; readonly message?: string; readonly headers?: Record<string, string> } = {},
): ServerAnswer {
  const body = JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_error' })
  return { kind: 'whole', status, body, headers: { 'content-type': 'application/json', ...headers } }
}

/** An answer that is no stream, such as the page of some proxy. */
export const wholeAnswer = (status: number, contentType: string, body: string): ServerAnswer => ({
  kind: 'whole',
  status,
  body,
  headers: { 'content-type': contentType },
})

export const hangUp: ServerAnswer = { kind: 'hang-up' }

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** Starts a server on a free port of 127.0.0.1. */
export async function startMessagesServer(script: ServerScript): Promise<MessagesServer> {
  const requests: { -readonly [K in keyof ReceivedRequest]: ReceivedRequest[K] }[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const bell = createBell()

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await bodyOf(incoming)
    if (incoming.method !== 'POST' || new URL(incoming.url ?? '/', 'http://x').pathname !== '/v1/messages') {
      return answer(response, apiError(404, { message: `no ${incoming.method} ${incoming.url} here` }))
    }
    const received: (typeof requests)[number] = {
      index: requests.length,
      // A client that sends something else than a body of the API fails the test that looks at it.
      body: JSON.parse(text) as MessagesBody,
      headers: incoming.headers,
      at: Date.now(),
      state: 'open',
    }
    requests.push(received)
    response.on('close', () => {
      received.state = response.writableFinished ? 'answered' : 'aborted'
      bell.ring()
    })
    bell.ring()
    await answer(response, await answerTo(script, received), received)
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      if (response.destroyed) return
      if (response.headersSent) response.destroy()
      else void answer(response, apiError(400, { message: `the test's server failed: ${error}` }))
    })
  })
  server.on('connection', (socket) => {
    connections += 1
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // An address is a string for pipes only.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const socket of sockets) socket.destroy()
    await closed
  }

  return {
    url,
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'test-key' },
    requests,
    get openSockets() {
      return sockets.size
    },
    get connections() {
      return connections
    },
    received: (count) => bell.until(() => requests.length >= count),
    settled: () => bell.until(() => requests.every(({ state }) => state !== 'open')),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function answerTo(script: ServerScript, received: ReceivedRequest): Promise<ServerAnswer> {
  const said = typeof script === 'function' ? await script(received) : script[received.index]
  if (said === undefined) return apiError(400, { message: `the script has no answer ${received.index}` })
  return typeof said === 'string' ? textReply(said) : said
}

async function answer(
  response: ServerResponse,
  said: ServerAnswer,
  received?: ReceivedRequest,
): Promise<void> {
  switch (said.kind) {
    case 'hang-up':
      response.destroy()
      return
    case 'whole':
      response.writeHead(said.status, { 'request-id': 'req_error', ...said.headers })
      response.end(said.body)
      return
    case 'stream':
      return stream(response, said.reply, said.shape, received)
  }
}

async function stream(
  response: ServerResponse,
  said: string | ScriptedParts | Reply,
  shape: StreamShape,
  received: ReceivedRequest | undefined,
): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  try {
    await pause(shape.firstByteMs, gone.signal)
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'request-id': `req_${received?.index ?? 0}`,
      ...shape.headers,
    })
    response.flushHeaders()
    for (const chunk of chunksOf(said, shape, received)) {
      await new Promise<void>((resolve) => response.write(chunk, () => resolve()))
      if (gone.signal.aborted) return
      await pause(shape.chunkMs, gone.signal)
    }
    if (shape.cutAfterEvents !== undefined) response.destroy()
    else if (shape.silentAfterEvents !== undefined) await pingUntilGone(response, shape, gone.signal)
    else response.end()
  } catch (error) {
    if (!gone.signal.aborted) throw error
  }
}

function chunksOf(
  said: string | ScriptedParts | Reply,
  shape: StreamShape,
  received: ReceivedRequest | undefined,
): Buffer[] {
  const all = shape.events ?? eventsOfReply(buildReply(said, asModelRequest(received?.body)))
  const limit = shape.cutAfterEvents ?? shape.silentAfterEvents ?? shape.endAfterEvents ?? all.length
  const sent = all.slice(0, limit)
  const { chunks, lineEnd } = shape
  if (chunks === undefined) return sent.map((event) => encodeEvents([event], lineEnd))
  const bytes = encodeEvents(sent, lineEnd)
  const borders =
    typeof chunks === 'number'
      ? Array.from({ length: Math.ceil(bytes.length / chunks) }, (_, i) => i * chunks)
      : chunks
  return cutAt(bytes, borders)
}

async function pingUntilGone(response: ServerResponse, shape: StreamShape, gone: AbortSignal): Promise<void> {
  while (!gone.aborted) {
    await delay(shape.pingMs ?? 20, undefined, { signal: gone })
    response.write('event: ping\ndata: {"type":"ping"}\n\n')
  }
}

const pause = async (ms: number | undefined, signal: AbortSignal): Promise<void> => {
  if (ms !== undefined) await delay(ms, undefined, { signal })
}

/** The request as scripted replies know it, so that their ids come from it. */
const asModelRequest = (body: MessagesBody | undefined): ModelRequest => ({
  model: body?.model ?? 'unknown',
  messages: body?.messages ?? [],
  system: '',
  tools: [],
  maxTokens: 1,
  source: 'http',
})

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer) // No encoding is set, so chunks are buffers.
  return Buffer.concat(chunks).toString('utf8')
}
