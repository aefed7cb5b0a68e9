/**
 * The MCP servers of a session: those that are shared, by name, and those that one agent brings along.
 *
 *   M1  A shared server is started when it is first asked for: by `start`, `waitFor`, or a call of its tool.
 *   M2  `close` ends all of them, and whatever is opened while it runs.
 */
import {
  checkMcpRequirement,
  MCP_POLL_MS,
  MCP_WAIT_MS,
  type McpRequirement,
  type McpServerFact,
} from '../../definitions/mcp-requirement.ts'
import type { McpServerConfig } from '../../definitions/mcp-server-config.ts'
import { type Clock, sleep, systemClock } from '../clock.ts'
import type { Tool } from '../tools/tool.ts'
import {
  type ConnectionSettings,
  createConnection,
  type McpConnection,
  type McpServerStatus,
} from './connection.ts'
import { createHttpLink } from './http-link.ts'
import { normalServerName } from './names.ts'
import type { LinkRequest, OpenLink, ServerIdentity } from './server-link.ts'
import { createStdioLink } from './stdio-link.ts'

export interface McpClientsOptions {
  /** The shared servers, variables put in. */
  readonly servers: ReadonlyMap<string, McpServerConfig>
  /**
   * Whom the shared servers belong to: the first part of their mark. The session, not an agent: what carries an
   * agent's mark is ended with it.
   */
  readonly owner: string
  /** Where the shared servers run, absolute. */
  readonly cwd: string
  readonly clock?: Clock
  /** What servers inherit. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Names of variables that they do not inherit: secrets. A server's own `env` may name them. */
  readonly withheldEnv?: readonly string[]
  /** What this program calls itself to servers. */
  readonly client: { readonly name: string; readonly version: string }
  /** Milliseconds between TERM and KILL. Default 2,000. */
  readonly graceMs?: number
  /** Milliseconds until a server must have listed its tools. Default 30,000. */
  readonly connectTimeoutMs?: number
  /** Milliseconds of a call without an answer or progress, where a server has no `timeout`. Default 600,000. */
  readonly callTimeoutMs?: number
  /** Bytes of one message of a server. Default 10 MiB. */
  readonly maxMessageBytes?: number
  /** Called, and awaited, before a server is started or connected: for the intent in the log. A throw prevents it. */
  readonly onStarting?: (server: ServerIdentity) => void | Promise<void>
  /** Called as soon as a server's process exists: for the fact in the log. A throw ends the process. */
  readonly onStarted?: LinkRequest['onStarted']
  /** Called when nothing of a server is left. Must not throw. */
  readonly onEnded?: ConnectionSettings['onEnded']
  /** A server's list of tools is there, or is another. Must not throw. */
  readonly onToolsChanged?: ConnectionSettings['onToolsChanged']
  /** Must not throw. */
  readonly onDiagnostic?: ConnectionSettings['onDiagnostic']
  /** For tests and simulations. Default: processes and HTTP. */
  readonly openLink?: OpenLink
}

/** A server of one agent. */
export interface OwnMcpServer {
  readonly identity: ServerIdentity
  /** Resolves when it is ready or has failed; `status` says which. Never rejects. */
  readonly settled: Promise<void>
  status(): McpServerStatus
  tools(): readonly Tool[]
  /** Resolves when nothing of it is left. Also while it starts, which is given up then. */
  close(): Promise<void>
}

/** What one agent brings along. */
export interface OwnMcpServerRequest {
  /** Id of the agent. */
  readonly owner: string
  readonly name: string
  /** With its variables put in: see `expandMcpServerConfig`. */
  readonly config: McpServerConfig
  /** The agent's working directory, absolute. */
  readonly cwd: string
}

/** Who needs which servers: a definition. */
export interface McpNeeds {
  readonly agentType: string
  /** Parts of servers' names. */
  readonly requiredMcpServers?: readonly string[]
}

/** What a wait for servers comes to. */
export type McpWaitOutcome = Exclude<McpRequirement, { readonly kind: 'pending' }>

export interface McpClients {
  /** Names of the shared servers. */
  readonly names: readonly string[]
  /** Of a shared server, without waiting. Undefined: there is none of this name. */
  statusOf(name: string): McpServerStatus | undefined
  statuses(): ReadonlyMap<string, McpServerStatus>
  /** Resolves when each (default: all) is ready or has failed. Never rejects. */
  start(names?: readonly string[]): Promise<void>
  /** As last listed; none before it was ready. The same array until the list changes. */
  toolsOf(name: string): readonly Tool[]
  /** The shared servers as decisions about spawns see them, without waiting. */
  facts(): readonly McpServerFact[]
  /**
   * Starts the servers that a definition needs and looks at them every 500 ms for up to 30 s, as long as what is
   * missing may still come. Rejects with the signal's reason.
   */
  waitFor(needs: McpNeeds, signal: AbortSignal): Promise<McpWaitOutcome>
  /** Starts a server for one agent. After `close` it is closed from the start. */
  open(request: OwnMcpServerRequest): OwnMcpServer
  /** Ends all servers, also those that agents opened. Resolves when nothing is left. For good. */
  close(): Promise<void>
}

/** @throws Error when two servers would give their tools the same names. */
export function createMcpClients(options: McpClientsOptions): McpClients {
  const settings = settingsFrom(options)
  const shared = new Map<string, McpConnection>()
  for (const [name, config] of options.servers) {
    const rival = [...shared.keys()].find((other) => toolPrefix(other) === toolPrefix(name))
    if (rival !== undefined)
      throw new Error(`The MCP servers ${rival} and ${name} cannot be told apart: rename one.`)
    shared.set(name, createConnection(identify(options.owner, name), config, options.cwd, settings))
  }
  const own = new Set<McpConnection>()
  let closing: Promise<void> | undefined

  const statuses = (): ReadonlyMap<string, McpServerStatus> =>
    new Map([...shared].map(([name, connection]) => [name, connection.status()]))
  const facts = (): readonly McpServerFact[] =>
    [...shared].map(([name, connection]) => factOf(name, connection.status()))
  const start = async (names: readonly string[] = [...shared.keys()]): Promise<void> => {
    await Promise.all(names.map((name) => shared.get(name)?.connect()))
  }

  return {
    names: [...shared.keys()],
    statusOf: (name) => shared.get(name)?.status(),
    statuses,
    start,
    toolsOf: (name) => shared.get(name)?.tools() ?? [],
    facts,
    async waitFor({ agentType, requiredMcpServers = [] }, signal) {
      void start([...shared.keys()].filter((name) => requiredMcpServers.some((part) => isPartOf(part, name))))
      for (let waited = 0; ; waited += MCP_POLL_MS) {
        signal.throwIfAborted()
        const look = checkMcpRequirement(agentType, requiredMcpServers, facts(), waited >= MCP_WAIT_MS)
        if (look.kind !== 'pending') return look
        await sleep(settings.clock, MCP_POLL_MS, signal)
      }
    },
    open({ owner, name, config, cwd }) {
      const connection = createConnection(identify(owner, name), config, cwd, settings)
      own.add(connection)
      if (closing !== undefined) void connection.close()
      return {
        identity: connection.identity,
        settled: connection.connect(),
        status: connection.status,
        tools: connection.tools,
        async close() {
          await connection.close()
          own.delete(connection)
        },
      }
    },
    close() {
      closing ??= Promise.all([...shared.values(), ...own].map((connection) => connection.close())).then(
        () => {},
      )
      return closing
    },
  }
}

function settingsFrom(options: McpClientsOptions): ConnectionSettings {
  const { env = process.env, withheldEnv = [] } = options
  const inherited = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || withheldEnv.includes(name) ? [] : [[name, value] as const],
  )
  return {
    clock: options.clock ?? systemClock,
    env: Object.fromEntries(inherited),
    client: options.client,
    graceMs: options.graceMs ?? 2000,
    connectTimeoutMs: options.connectTimeoutMs ?? 30_000,
    callTimeoutMs: options.callTimeoutMs ?? 600_000,
    maxMessageBytes: options.maxMessageBytes ?? 10 * 1024 * 1024,
    openLink: options.openLink ?? openRealLink,
    onStarting: options.onStarting,
    onStarted: options.onStarted,
    onEnded: options.onEnded,
    onToolsChanged: options.onToolsChanged,
    onDiagnostic: options.onDiagnostic,
  }
}

const openRealLink: OpenLink = (request) =>
  request.config.type === 'stdio'
    ? createStdioLink(request, request.config)
    : createHttpLink(request, request.config)

const toolPrefix = (name: string): string => normalServerName(name).toLowerCase()

const isPartOf = (part: string, server: string): boolean =>
  part.trim() !== '' && server.toLowerCase().includes(part.trim().toLowerCase())

function factOf(name: string, status: McpServerStatus): McpServerFact {
  switch (status.state) {
    case 'pending':
      return { name, status: 'pending', tools: 0 }
    case 'ready':
      return { name, status: 'connected', tools: status.tools }
    case 'failed':
      return { name, status: status.needsAuthorization ? 'needs-auth' : 'failed', tools: 0 }
    case 'closed':
      return { name, status: 'disabled', tools: 0 }
  }
}

/** What the processes of a server carry in their environment: for the log, and for a resume that reads it. */
export function mcpServerMark(owner: string, server: string): string {
  return `${owner}/mcp:${normalServerName(server)}`
}

const identify = (owner: string, server: string): ServerIdentity => ({
  server,
  owner,
  mark: mcpServerMark(owner, server),
})
