/** The MCP clients of a session, with what happens to them in its logs. */
import type { McpClients } from '../effects/mcp/mcp-clients.ts'
import { AgentId } from '../machines/ids.ts'
import type { EngineCore } from './core.ts'
import type { Session } from './session.ts'
import { VERSION } from './version.ts'

/** Makes the clients. Nothing is started yet. */
export async function openSessionMcp(core: EngineCore, session: Session): Promise<McpClients> {
  // Loaded late: most sessions have no server, and the protocol is larger than the engine.
  const { createMcpClients } = await import('../effects/mcp/mcp-clients.ts')
  /** Shared servers are the session's, which the root's log speaks for. */
  const agentOf = (owner: string) => {
    const id = AgentId.safeParse(owner)
    return (id.success ? core.agents.get(id.data) : undefined) ?? session.root
  }
  return createMcpClients({
    servers: new Map(core.mcpServers.map(({ name, config }) => [name, config])),
    // No agent: what an agent leaves behind is ended with its run, and these live on.
    owner: session.id,
    cwd: core.cwd,
    clock: core.clock,
    env: { ...process.env, ...core.env },
    withheldEnv: core.withheldEnv,
    client: { name: 'troupe', version: VERSION },
    onStarting: async ({ owner, server }) => {
      if (owner === session.id) await agentOf(owner).post({ type: 'servers.requested', servers: [server] })
    },
    onStarted: ({ owner, server, pid, startTime }) => {
      agentOf(owner)
        .post({ type: 'server.started', server, pid, ...(startTime !== undefined && { startTime }) })
        // The log is gone: its agent has been halted with a better error. The mark finds the process all the same.
        .catch(() => {})
    },
    // A server that fails may have quoted what it was given.
    onDiagnostic: ({ code, message }) => core.diagnose(code, core.mask.text(message)),
    ...(core.openMcpLink !== undefined && { openLink: core.openMcpLink }),
  })
}
