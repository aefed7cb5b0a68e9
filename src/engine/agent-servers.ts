/**
 * The MCP servers that one agent uses: those of the session, and those that its definition brings along.
 *
 *   V1  A server of its own is recorded as wanted before it is started, and as a process as soon as it is one.
 *   V2  Opened once per life of the process: a restart finds none of them running and opens them again.
 *   V3  What it brought along is gone when its run has ended, and when the engine lets go of it.
 */
import type { AgentMcpServer } from '../definitions/agent-definition.ts'
import { expandMcpServerConfig } from '../effects/mcp/expand-variables.ts'
import type { OwnMcpServer } from '../effects/mcp/mcp-clients.ts'
import type { Tool } from '../effects/tools/tool.ts'
import type { ToolTable } from '../effects/tools/tool-table.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import { extendTable } from './extend-table.ts'

export class AgentServers {
  readonly #agent: Agent
  readonly #base: ToolTable
  /** Of settings. */
  readonly #env: EngineCore['env']
  #own: readonly OwnMcpServer[] = []
  #opening: Promise<void> | undefined
  #table: { readonly of: readonly (readonly Tool[])[]; readonly table: ToolTable } | undefined

  constructor(agent: Agent, { tools, env }: Pick<EngineCore, 'tools' | 'env'>) {
    this.#agent = agent
    this.#base = tools
    this.#env = env
  }

  /**
   * Starts what the agent uses and waits until each server is ready or has failed: its tools, or why there are none.
   * Rejects with the signal's reason.
   */
  async open(signal: AbortSignal): Promise<void> {
    if (!this.isWanted) return
    this.#opening ??= this.#start()
    await abortable(this.#opening, signal)
  }

  /** All tools that there are for the agent, before its pool chooses. */
  get table(): ToolTable {
    if (!this.isWanted) return this.#base
    const { mcp } = this.#agent.session
    const lists = [
      ...(mcp?.names ?? []).map((name) => mcp?.toolsOf(name) ?? []),
      ...this.#own.map((server) => server.tools()),
    ]
    if (this.#table === undefined || lists.some((list, i) => list !== this.#table?.of[i])) {
      this.#table = { of: lists, table: extendTable(this.#base, lists.flat()) }
    }
    return this.#table.table
  }

  /** Names of the tools of servers that its definition names or brings along. */
  get ownTools(): readonly string[] {
    const { mcp } = this.#agent.session
    const named = this.#declared.flatMap((server) =>
      typeof server === 'string' ? (mcp?.toolsOf(server) ?? []) : [],
    )
    return [...named, ...this.#own.flatMap((server) => server.tools())].map(({ name }) => name)
  }

  /** Ends what it brought along. Resolves when nothing of it is left. */
  async close(): Promise<void> {
    if (this.#opening === undefined) return
    await this.#opening.catch(() => {})
    const own = this.#own
    this.#own = []
    this.#opening = undefined
    await Promise.all(own.map((server) => server.close()))
  }

  get #declared(): readonly AgentMcpServer[] {
    return this.#agent.definition?.mcpServers ?? []
  }

  /** Whether there is anything to start. */
  get isWanted(): boolean {
    return this.#agent.session.hasSharedServers || this.#declared.length > 0
  }

  async #start(): Promise<void> {
    const { session, id: owner, cwd } = this.#agent
    const mcp = await session.openMcp()
    const brought = this.#declared.filter((server) => typeof server !== 'string')
    if (brought.length > 0) {
      const servers = brought.map(({ name }) => name)
      await this.#agent.post({ type: 'servers.requested', servers })
    }
    // Only now, so that no value of a variable is ever in a log.
    this.#own = brought.flatMap(({ name, config }) => {
      const expanded = expandMcpServerConfig(config, { ...process.env, ...this.#env })
      const missing =
        expanded.missing.length === 0 ? '' : ` (without a value: ${expanded.missing.join(', ')})`
      if (expanded.kind === 'broken') {
        session.diagnose(
          'mcp-variable-missing',
          `The MCP server ${name} of agent ${owner} is not there: ${expanded.problem}${missing}.`,
        )
        return []
      }
      if (missing !== '')
        session.diagnose(
          'mcp-variable-missing',
          `The MCP server ${name} of agent ${owner} is started without some variables${missing}.`,
        )
      return [mcp.open({ owner, name, config: expanded.config, cwd })]
    })
    await Promise.all([mcp.start(), ...this.#own.map(({ settled }) => settled)])
  }
}

/** What a promise comes to, or the signal's reason as soon as it is aborted. */
function abortable(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
