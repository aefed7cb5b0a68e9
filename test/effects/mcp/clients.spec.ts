/** What clients promise whatever the server is: on servers that live in the test, with a virtual clock. */
import { describe, expect, it } from 'vitest'
import type { McpServerConfig } from '../../../src/definitions/mcp-server-config.ts'
import { createMcpClients, type McpClientsOptions } from '../../../src/effects/mcp/mcp-clients.ts'
import { createToolTable } from '../../../src/effects/tools/tool-table.ts'
import { createVirtualClock, type VirtualClock } from '../../helpers/virtual-clock.ts'
import {
  callTool,
  type InnerServer,
  innerServers,
  OWNER,
  type TestClients,
  testClients,
} from './support/clients.ts'

const SOME_CONFIG: McpServerConfig = { type: 'stdio', command: 'none', args: [], env: {} }
const never = new AbortController().signal

interface World {
  readonly clients: TestClients
  readonly clock: VirtualClock
  readonly server: (name: string) => InnerServer
}

/** Servers of the given names; those with a `?` never answer. */
function world(names: readonly string[], options: Partial<McpClientsOptions> = {}): World {
  const plain = names.map((name) => name.replace('?', ''))
  const inner = innerServers(names.filter((name) => !name.endsWith('?')))
  const clock = createVirtualClock()
  const servers = Object.fromEntries(plain.map((name) => [name, SOME_CONFIG]))
  const clients = testClients(servers, { clock, openLink: inner.openLink, ...options })
  return { clients, clock, server: inner.server }
}

const namesOf = (clients: TestClients, server: string): readonly string[] =>
  clients.toolsOf(server).map(({ name }) => name)

describe('the wait for required servers', () => {
  const wait = async (
    { clients, clock }: World,
    requiredMcpServers: readonly string[],
  ): Promise<{ readonly kind: string; readonly parts?: readonly string[]; readonly waited: number }> => {
    const start = clock.now()
    let outcome: Awaited<ReturnType<typeof clients.waitFor>> | undefined
    void clients.waitFor({ agentType: 'tester', requiredMcpServers }, never).then((result) => {
      outcome = result
    })
    for (;;) {
      await clock.advanceAsync(0)
      if (outcome !== undefined) break
      await clock.advanceAsync(500)
    }
    const waited = clock.now() - start
    return outcome.kind === 'missing'
      ? { kind: 'missing', parts: outcome.parts, waited }
      : { kind: outcome.kind, waited }
  }

  it.each([
    { required: [], servers: ['git?'], kind: 'ready', waited: 0 },
    { required: ['git'], servers: ['git', 'jira?'], kind: 'ready', waited: 500 },
    { required: ['HUB'], servers: ['GitHub-main'], kind: 'ready', waited: 500 },
    { required: ['hub', 'jira'], servers: ['github', 'jira'], kind: 'ready', waited: 500 },
    { required: ['jira'], servers: ['git'], kind: 'missing', parts: ['jira'], waited: 0 },
    // Nothing that may still come could fill it: there is no reason to wait.
    { required: ['jira', 'slow'], servers: ['slow?'], kind: 'missing', parts: ['jira'], waited: 0 },
    { required: ['slow'], servers: ['slow?', 'git'], kind: 'missing', parts: ['slow'], waited: 30_000 },
  ])(
    'for $required with $servers: $kind after $waited ms',
    async ({ required, servers, kind, parts, waited }) => {
      // Servers that never answer are still pending when the wait is over.
      const here = world(servers, { connectTimeoutMs: 60_000 })
      expect(await wait(here, required)).toEqual({ kind, waited, ...(parts && { parts }) })
    },
  )

  it('starts only the servers that are needed', async () => {
    const here = world(['git', 'jira'])
    await wait(here, ['git'])
    expect(here.clients.story).toEqual(['git is about to start', 'git has tools'])
  })

  it('does not take a server without tools for ready', async () => {
    const here = world(['git'])
    here.server('git').tools = []
    expect(await wait(here, ['git'])).toEqual({ kind: 'missing', parts: ['git'], waited: 500 })
    expect(here.clients.statusOf('git')).toEqual({ state: 'ready', tools: 0 })
  })

  it('ends when the last server that may come has failed', async () => {
    const here = world(['slow?'], { connectTimeoutMs: 4_800 })
    expect(await wait(here, ['slow'])).toEqual({ kind: 'missing', parts: ['slow'], waited: 5_000 })
  })

  it('rejects when the spawn is aborted', async () => {
    const { clients, clock } = world(['slow?'])
    const abort = new AbortController()
    const waiting = clients.waitFor({ agentType: 'tester', requiredMcpServers: ['slow'] }, abort.signal)
    await clock.advanceAsync(1_000)
    abort.abort(new Error('killed'))
    await expect(waiting).rejects.toThrow('killed')
  })
})

describe('a shared server', () => {
  it('is connected once for all who ask', async () => {
    const { clients, server } = world(['git'])
    await Promise.all([clients.start(), clients.start(['git']), clients.start()])
    expect(server('git').connections).toBe(1)
  })

  it('is on record before it is started, and not started when it cannot be', async () => {
    let connections = -1
    const here = world(['git'], {
      onStarting: async () => {
        connections = here.server('git').connections
        await Promise.resolve()
        throw new Error('the log is closed')
      },
    })
    await here.clients.start()
    expect(connections).toBe(0)
    expect(here.server('git').connections).toBe(0)
    expect(here.clients.statusOf('git')).toMatchObject({ state: 'failed', reason: 'the log is closed' })
  })

  it('that is lost keeps its tools, and is brought back by the next call', async () => {
    const { clients, server } = world(['git'])
    await clients.start()
    const before = clients.toolsOf('git')
    await server('git').crash()
    expect(clients.statusOf('git')?.state).toBe('failed')
    expect(clients.toolsOf('git')).toBe(before)
    expect(await callTool(before, 'mcp__git__echo', { a: 1 })).toEqual({ content: '{"a":1}' })
    expect(server('git').connections).toBe(2)
    expect(clients.statusOf('git')).toEqual({ state: 'ready', tools: 1 })
    // The same tools after all: no agent has to be told.
    expect(clients.toolsOf('git')).toBe(before)
    expect(clients.story.filter((line) => line === 'git has tools')).toHaveLength(1)
  })

  it('that says that its tools changed is listed again', async () => {
    const { clients, clock, server } = world(['git'])
    await clients.start()
    server('git').tools = [...server('git').tools, { name: 'log', inputSchema: { type: 'object' } }]
    await server('git').changed()
    await clock.advanceAsync(0)
    expect(namesOf(clients, 'git')).toEqual(['mcp__git__echo', 'mcp__git__log'])
    expect(clients.statusOf('git')).toEqual({ state: 'ready', tools: 2 })
  })

  it('whose changed list cannot be read keeps the one before, with a diagnostic', async () => {
    const { clients, clock, server } = world(['git'])
    await clients.start()
    server('git').tools = 'none' as unknown as readonly unknown[]
    await server('git').changed()
    await clock.advanceAsync(0)
    expect(namesOf(clients, 'git')).toEqual(['mcp__git__echo'])
    expect(clients.diagnostics.map(({ code }) => code)).toEqual(['mcp-list-failed'])
  })

  it('of the name of another, as far as tools go, is refused', () => {
    const servers = new Map([
      ['Git.Hub', SOME_CONFIG],
      ['git_hub', SOME_CONFIG],
    ])
    const options = { servers, owner: OWNER, cwd: '/', client: { name: 'test', version: '0' } }
    expect(() => createMcpClients(options)).toThrow(
      'The MCP servers Git.Hub and git_hub cannot be told apart',
    )
  })
})

describe("an agent's own server", () => {
  const request = { owner: 'a00000000000000e2', name: 'git', config: SOME_CONFIG, cwd: '/' }

  it('has tools of its own and is gone when it is closed', async () => {
    const { clients } = world([], { openLink: innerServers(['git']).openLink })
    const own = clients.open(request)
    await own.settled
    expect(own.identity.mark).toBe('a00000000000000e2/mcp:git')
    expect(await callTool(own.tools(), 'mcp__git__echo', { a: 1 })).toEqual({ content: '{"a":1}' })
    expect(clients.names).toEqual([])
    await own.close()
    expect(own.status()).toEqual({ state: 'closed' })
    expect(await callTool(own.tools(), 'mcp__git__echo')).toMatchObject({
      isError: true,
      content: 'The MCP server git is not available: it was closed.',
    })
    expect(clients.story.at(-1)).toBe('git ended')
  })

  it('is closed with all others, also one that is opened too late', async () => {
    const { clients } = world([], { openLink: innerServers(['git']).openLink })
    const [early, closing] = [clients.open(request), clients.close()]
    const late = clients.open(request)
    await Promise.all([early.settled, late.settled, closing])
    expect([early.status(), late.status()]).toEqual([{ state: 'closed' }, { state: 'closed' }])
    expect(clients.story.filter((line) => line.endsWith('ended')).length).toBe(
      clients.story.filter((line) => line.endsWith('start')).length,
    )
  })
})

describe('a call', () => {
  it('without an answer or progress is given up after the time limit of its server', async () => {
    const { clients, clock, server } = world(['git'], { callTimeoutMs: 60_000 })
    await clients.start()
    server('git').answer = () => new Promise(() => {})
    const call = callTool(clients.toolsOf('git'), 'mcp__git__echo')
    await clock.advanceAsync(60_000)
    expect(await call).toEqual({
      isError: true,
      content: 'The MCP server git did not answer within 60 s. The call was cancelled; it may have run.',
    })
    expect(clock.pending).toBe(0)
  })

  it('does not bring a closed server back', async () => {
    const here = world(['git'])
    await here.clients.start()
    await here.server('git').crash()
    await here.clients.close()
    expect((await callTool(here.clients.toolsOf('git'), 'mcp__git__echo')).isError).toBe(true)
    expect(here.server('git').connections).toBe(1)
  })
})

describe('a tool', () => {
  it('takes its rules from what the server says of it', async () => {
    const { clients, server } = world(['git'])
    const inputSchema = { type: 'object' }
    server('git').tools = [
      { name: 'a-plain', inputSchema },
      { name: 'b-reading', inputSchema, annotations: { readOnlyHint: true } },
      { name: 'c-idempotent', inputSchema, annotations: { idempotentHint: true } },
      { name: 'd-both', inputSchema, annotations: { readOnlyHint: true, idempotentHint: true } },
      { name: 'e-contradiction', inputSchema, annotations: { readOnlyHint: true, destructiveHint: true } },
    ]
    await clients.start()
    const facts = clients
      .toolsOf('git')
      .map((tool) => [tool.resume, tool.isReadOnly({}), tool.isConcurrencySafe({})])
    expect(facts).toEqual([
      ['interrupt', false, false],
      ['repeat', true, true],
      ['keyed', false, false],
      ['repeat', true, true],
      ['interrupt', false, false],
    ])
  })

  it('that is keyed gives the server the key of the call, others do not', async () => {
    const { clients, server } = world(['git'])
    const inputSchema = { type: 'object' }
    server('git').tools = [
      { name: 'keyed', inputSchema, annotations: { idempotentHint: true } },
      { name: 'plain', inputSchema },
    ]
    const keys: unknown[] = []
    server('git').answer = (_name, _input, meta) => {
      keys.push(Reflect.get(Object(meta), 'troupe/call-key'))
      return { content: [] }
    }
    await clients.start()
    for (const name of ['keyed', 'plain']) await callTool(clients.toolsOf('git'), `mcp__git__${name}`)
    expect(keys).toEqual(['the-key', undefined])
  })

  it('is told to models by its JSON Schema, and its input checked by it', async () => {
    const { clients, server } = world(['git'])
    server('git').tools = [
      {
        name: 'commit',
        description: 'd'.repeat(5000),
        inputSchema: {
          $schema: 'http://json-schema.org/draft-07/schema#',
          type: 'object',
          properties: { message: { type: 'string' }, count: { type: 'integer' } },
          required: ['message'],
          additionalProperties: false,
        },
      },
    ]
    await clients.start()
    const table = createToolTable(clients.toolsOf('git'))
    const [definition] = table.definitions()
    expect(definition?.description).toHaveLength(4000)
    expect(definition?.input_schema).toEqual({
      type: 'object',
      properties: { message: { type: 'string' }, count: { type: 'integer' } },
      required: ['message'],
      additionalProperties: false,
    })
    expect(table.parseCall('mcp__git__commit', { message: 'x', count: 1 })).toMatchObject({ ok: true })
    expect(table.parseCall('mcp__git__commit', { count: 'one', other: 1 })).toEqual({
      ok: false,
      message:
        'mcp__git__commit was not called. `message`: is missing. The input: has no field "other". `count`: must be integer.',
    })
  })

  it('that models cannot be told of is left out, with a diagnostic; the others stay', async () => {
    const { clients, server } = world(['git'])
    const inputSchema = { type: 'object' }
    let deep: unknown = 'leaf'
    for (let depth = 0; depth < 100; depth++) deep = { deep }
    server('git').tools = [
      { name: 'good', inputSchema },
      { name: 'good', inputSchema },
      { name: 'no-schema' },
      'no tool at all',
      { name: 'odd-property', inputSchema: { type: 'object', properties: { 'a b': {} } } },
      { name: 'deep', inputSchema: { type: 'object', deep } },
      { name: 'any-of', inputSchema: { type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }] } },
      {
        name: 'bad-schema',
        inputSchema: { type: 'object', properties: { a: { $ref: 'https://x.example/s' } } },
      },
    ]
    await clients.start()
    expect(namesOf(clients, 'git')).toEqual(['mcp__git__any-of', 'mcp__git__bad-schema', 'mcp__git__good'])
    const table = createToolTable(clients.toolsOf('git'))
    expect(table.definitions()[0]?.input_schema).toEqual({ type: 'object' })
    expect(table.parseCall('mcp__git__any-of', {}).ok).toBe(false)
    // What cannot be checked here is checked there.
    expect(table.parseCall('mcp__git__bad-schema', { a: 1 }).ok).toBe(true)
    expect(
      clients.diagnostics.map(({ code, message }) => [code, /its? (?:tool |lists )(\S+)/.exec(message)?.[1]]),
    ).toEqual([
      ['mcp-tool-unreadable', 'no-schema'],
      ['mcp-tool-unreadable', 'a'],
      ['mcp-tool-unreadable', 'deep'],
      ['mcp-name-taken', 'good'],
      ['mcp-tool-schema', 'any-of'],
      ['mcp-tool-unreadable', 'odd-property'],
      ['mcp-tool-schema', 'bad-schema'],
    ])
  })
})
