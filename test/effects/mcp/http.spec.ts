/** Servers behind an address, on the loopback. */

import { randomUUID } from 'node:crypto'
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import * as z from 'zod'
import { createBell } from '../../helpers/bell.ts'
import { callTool, type TestClients, testClients } from './support/clients.ts'

interface World {
  readonly url: string
  /** Method and, where there is one, JSON-RPC method of each request, in order. */
  readonly requests: readonly string[]
  /** Resolves when so many have come in all. */
  received(count: number): Promise<void>
  /** Breaks all connections, as a crash does. */
  cut(): void
  /** Forgets all sessions, as a restart does. */
  forget(): void
  /** From now on answers every request like this. */
  answerWith(handler: ((request: IncomingMessage, response: ServerResponse) => void) | undefined): void
}

/** What a test's server has: tools that answer, never answer, and answer too much. */
function createTestServer(): McpServer {
  const server = new McpServer({ name: 'web', version: '1' })
  const text = (words: string): { content: { type: 'text'; text: string }[] } => ({
    content: [{ type: 'text', text: words }],
  })
  server.registerTool('echo', { inputSchema: { message: z.string() } }, ({ message }) => text(message))
  server.registerTool('hang', {}, () => new Promise(() => {}))
  server.registerTool('flood', {}, () => text('x'.repeat(200_000)))
  return server
}

async function listen(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<HttpServer> {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return server
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let body = ''
  for await (const chunk of request) body += chunk
  return body
}

async function streamableServer({ asJson = false } = {}): Promise<World> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const requests: string[] = []
  const bell = createBell()
  let override: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
  const server = await listen(async (request, response) => {
    if (override !== undefined) return override(request, response)
    const text = await bodyOf(request)
    const message = text === '' ? undefined : JSON.parse(text)
    requests.push([request.method, message?.method, request.headers['x-key']].filter(Boolean).join(' '))
    bell.ring()
    const id = request.headers['mcp-session-id']
    let transport = typeof id === 'string' ? sessions.get(id) : undefined
    if (transport === undefined) {
      if (id !== undefined) return response.writeHead(404).end()
      const created = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: asJson,
        onsessioninitialized: (session) => void sessions.set(session, created),
      })
      await createTestServer().connect(created)
      transport = created
    }
    await transport.handleRequest(request, response, message)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    requests,
    received: (count) => bell.until(() => requests.length >= count),
    cut: () => server.closeAllConnections(),
    forget: () => sessions.clear(),
    answerWith: (handler) => {
      override = handler
    },
  }
}

async function sseServer(): Promise<World> {
  const sessions = new Map<string, SSEServerTransport>()
  const requests: string[] = []
  const bell = createBell()
  const server = await listen(async (request, response) => {
    requests.push(`${request.method} ${request.headers['x-key']}`)
    bell.ring()
    if (request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response)
      sessions.set(transport.sessionId, transport)
      return createTestServer().connect(transport)
    }
    const id = new URL(request.url ?? '', 'http://localhost').searchParams.get('sessionId')
    await sessions.get(id ?? '')?.handlePostMessage(request, response)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/sse`,
    requests,
    received: (count) => bell.until(() => requests.length >= count),
    cut: () => server.closeAllConnections(),
    forget: () => sessions.clear(),
    answerWith: () => {},
  }
}

const clientsOf = (
  { url }: Pick<World, 'url'>,
  type: 'http' | 'sse' = 'http',
  options: Parameters<typeof testClients>[1] = {},
): TestClients => testClients({ web: { type, url, headers: { 'X-Key': 'k' } } }, options)

const echo = async (clients: TestClients, message: string): Promise<unknown> =>
  (await callTool(clients.toolsOf('web'), 'mcp__web__echo', { message })).content

describe.each([
  { kind: 'streamable HTTP', type: 'http' as const, serve: streamableServer },
  {
    kind: 'streamable HTTP with plain JSON',
    type: 'http' as const,
    serve: () => streamableServer({ asJson: true }),
  },
  { kind: 'HTTP with server-sent events', type: 'sse' as const, serve: sseServer },
])('a server over $kind', ({ type, serve }) => {
  it('lists its tools and answers, with the headers of its description', async () => {
    const world = await serve()
    const clients = clientsOf(world, type)
    await clients.start()
    expect(clients.statusOf('web')).toEqual({ state: 'ready', tools: 3 })
    expect(await echo(clients, 'hello')).toBe('hello')
    for (const request of world.requests) expect(request).toMatch(/ k$/)
    await clients.close()
    expect(clients.statusOf('web')).toEqual({ state: 'closed' })
    if (type === 'http') expect(world.requests.at(-1)).toBe('DELETE k')
  })

  it('whose connections break in the middle of a call gives a tool error, and is back for the next', async () => {
    const world = await serve()
    const clients = clientsOf(world, type)
    await clients.start()
    const before = world.requests.length
    const call = callTool(clients.toolsOf('web'), 'mcp__web__hang')
    await world.received(before + 1)
    world.cut()
    expect(await call).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^The MCP server web could not do hang: /),
    })
    expect(await echo(clients, 'again')).toBe('again')
  })

  it('that answers more than is taken gives a tool error', async () => {
    const clients = clientsOf(await serve(), type, { maxMessageBytes: 100_000 })
    await clients.start()
    expect(await callTool(clients.toolsOf('web'), 'mcp__web__flood')).toMatchObject({ isError: true })
    expect(await echo(clients, 'again')).toBe('again')
  })
})

describe('a server over HTTP', () => {
  it('that has forgotten the session is introduced to anew', async () => {
    const world = await streamableServer()
    const clients = clientsOf(world)
    await clients.start()
    world.forget()
    expect(await callTool(clients.toolsOf('web'), 'mcp__web__echo', { message: 'x' })).toMatchObject({
      isError: true,
    })
    expect(await echo(clients, 'again')).toBe('again')
  })

  it('that wants an authorization says so', async () => {
    const world = await streamableServer()
    world.answerWith((_, response) => response.writeHead(401).end('<html>who are you?</html>'))
    const clients = clientsOf(world)
    await clients.start()
    expect(clients.statusOf('web')).toEqual({
      state: 'failed',
      reason: 'it answers 401: it wants an authorization. Give it one in `headers`',
      needsAuthorization: true,
    })
    expect(clients.facts()).toEqual([{ name: 'web', status: 'needs-auth', tools: 0 }])
  })

  it.each(['http', 'sse'] as const)('that is not there (%s) is failed, not waited for', async (type) => {
    const server = await listen(() => {})
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const clients = clientsOf({ url: `http://127.0.0.1:${port}/` }, type)
    await clients.start()
    expect(clients.statusOf('web')).toMatchObject({ state: 'failed' })
  })

  it('that answers with something else is failed', async () => {
    const world = await streamableServer()
    world.answerWith((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'))
    const clients = clientsOf(world)
    await clients.start()
    expect(clients.statusOf('web')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('Unexpected content type'),
    })
  })
})
