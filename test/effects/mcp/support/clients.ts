/** Clients for tests: with real processes, or with servers that live in the test. */
import { fileURLToPath } from 'node:url'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type ServerResult,
} from '@modelcontextprotocol/sdk/types.js'
import { onTestFinished } from 'vitest'
import type { McpServerConfig } from '../../../../src/definitions/mcp-server-config.ts'
import type { McpDiagnostic } from '../../../../src/effects/mcp/diagnostic.ts'
import {
  createMcpClients,
  type McpClients,
  type McpClientsOptions,
} from '../../../../src/effects/mcp/mcp-clients.ts'
import type { OpenLink, ServerProcess } from '../../../../src/effects/mcp/server-link.ts'
import type { Tool, ToolContext, ToolOutput } from '../../../../src/effects/tools/tool.ts'
import { createBell } from '../../../helpers/bell.ts'

export const OWNER = 'a00000000000000e1'

/** The badly behaved server of `bare-server.mjs`. */
export function bareServer(...ways: readonly string[]): Extract<McpServerConfig, { type: 'stdio' }> {
  const script = fileURLToPath(new URL('./bare-server.mjs', import.meta.url))
  return { type: 'stdio', command: process.execPath, args: [script, ...ways], env: {} }
}

export interface TestClients extends McpClients {
  readonly processes: readonly ServerProcess[]
  /** Resolves when a process has started. */
  hasStarted(): Promise<void>
  readonly diagnostics: readonly McpDiagnostic[]
  /** What the engine would have been told, in order. */
  readonly story: readonly string[]
}

/** Clients that are closed when the test is over. */
export function testClients(
  servers: Readonly<Record<string, McpServerConfig>>,
  options: Partial<McpClientsOptions> = {},
): TestClients {
  const processes: ServerProcess[] = []
  const diagnostics: McpDiagnostic[] = []
  const story: string[] = []
  const bell = createBell()
  const clients = createMcpClients({
    servers: new Map(Object.entries(servers)),
    owner: OWNER,
    cwd: process.cwd(),
    client: { name: 'test', version: '0' },
    graceMs: 100,
    onStarting: ({ server }) => void story.push(`${server} is about to start`),
    onStarted: (started) => {
      story.push(`${started.server} started`)
      processes.push(started)
      bell.ring()
    },
    onEnded: ({ server }) => story.push(`${server} ended`),
    onToolsChanged: ({ server }) => story.push(`${server} has tools`),
    onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
    ...options,
  })
  onTestFinished(() => clients.close())
  const hasStarted = () => bell.until(() => processes.length > 0)
  return { ...clients, processes, hasStarted, diagnostics, story }
}

/** Calls a tool as the engine does, input checked. */
export async function callTool(
  tools: readonly Tool[],
  name: string,
  input: unknown = {},
  context: Partial<ToolContext> = {},
): Promise<ToolOutput> {
  const tool = tools.find((each) => each.name === name)
  if (tool === undefined) throw new Error(`no ${name} among ${tools.map((each) => each.name).join(', ')}`)
  const { signal = new AbortController().signal, key = 'the-key' } = context
  // What the tools of servers use of a context; the rest is for tools that touch the machine.
  return tool.run(tool.inputSchema.parse(input), { signal, key } as ToolContext)
}

/** A server in the test: what it lists may be changed, what it answers is given. */
export interface InnerServer {
  tools: readonly unknown[]
  answer: (name: string, input: unknown, meta: unknown) => unknown
  /** Says that its tools changed. */
  changed(): Promise<void>
  /** Ends the connection, as a crash does. */
  crash(): Promise<void>
  /** How often somebody connected. */
  readonly connections: number
}

/** Links to servers of the test, by name; a name that is not there never answers. */
export function innerServers(names: readonly string[]): {
  readonly openLink: OpenLink
  readonly server: (name: string) => InnerServer
} {
  const servers = new Map(names.map((name) => [name, createInnerServer()]))
  return {
    openLink: ({ identity }) => {
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      servers.get(identity.server)?.accept(theirs)
      return { transport: ours, reason: () => undefined, end: () => ours.close() }
    },
    server(name) {
      const found = servers.get(name)
      if (found === undefined) throw new Error(`no server ${name}`)
      return found
    },
  }
}

const PAGE_SIZE = 3

function createInnerServer(): InnerServer & { accept(transport: InMemoryTransport): void } {
  let current: Server | undefined
  let connections = 0
  const inner = {
    tools: [{ name: 'echo', inputSchema: { type: 'object' } }] as readonly unknown[],
    answer: (_name: string, input: unknown, _meta: unknown): unknown => ({
      content: [{ type: 'text', text: JSON.stringify(input) }],
    }),
    changed: async () => current?.sendToolListChanged(),
    crash: async () => current?.close(),
    get connections() {
      return connections
    },
    accept(transport: InMemoryTransport) {
      connections++
      current = new Server(
        { name: 'inner', version: '1' },
        { capabilities: { tools: { listChanged: true } } },
      )
      // What it answers may break every rule: that is what it is for. Lists come in pages.
      current.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
        if (!Array.isArray(inner.tools)) return { tools: inner.tools } as unknown as ServerResult
        const from = Number(params?.cursor ?? 0)
        const to = from + PAGE_SIZE
        const isLast = to >= inner.tools.length
        return { tools: inner.tools.slice(from, to), ...(!isLast && { nextCursor: `${to}` }) } as ServerResult
      })
      current.setRequestHandler(
        CallToolRequestSchema,
        async ({ params }) =>
          (await inner.answer(params.name, params.arguments, params._meta)) as CallToolResult,
      )
      void current.connect(transport)
    },
  }
  return inner
}
