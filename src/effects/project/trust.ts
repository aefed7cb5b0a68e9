/** What the definitions of a project that nobody trusts do without: what would start a program when they run. */
import type { DefinitionSource } from '../../definitions/agent-definition.ts'
import type { AgentFile } from '../../definitions/files/agent-file.ts'
import { teller } from './diagnostic.ts'

/** What a project may bring. */
export interface ProjectTrust {
  readonly hooks: boolean
  /** Servers that an agent declares itself; names of shared ones always may stand. */
  readonly mcpServers: boolean
}

const PROJECT_SOURCES: readonly DefinitionSource[] = ['projectSettings', 'localSettings']

/** Takes from a project's agent what it may not bring. What loses nothing comes back itself. */
export function withoutDistrusted(file: AgentFile, trust: ProjectTrust): AgentFile {
  if (file.kind !== 'agent' || !PROJECT_SOURCES.includes(file.definition.source)) return file
  if (file.definition.hooks === undefined && file.definition.mcpServers === undefined) return file
  const { hooks = [], mcpServers = [], ...rest } = file.definition
  const shared = mcpServers.filter((server) => trust.mcpServers || typeof server === 'string')
  const lostServers = mcpServers.flatMap((server) =>
    typeof server === 'string' || trust.mcpServers ? [] : [server.name],
  )
  const lostHooks = trust.hooks ? 0 : hooks.length
  if (lostServers.length === 0 && lostHooks === 0) return file
  const losses = [
    ...(lostHooks > 0
      ? [lostHooks === 1 ? 'its hook does not run' : `its ${lostHooks} hooks do not run`]
      : []),
    ...(lostServers.length > 0 ? [`its own MCP servers (${lostServers.join(', ')}) are not there`] : []),
  ]
  const diagnostics = [...file.diagnostics]
  const message = `The agent ${JSON.stringify(file.definition.agentType)} runs, but ${losses.join(', and ')}: the project is not trusted. Look at what they would run; then trust the project (--trust-project).`
  teller(file.definition.filename ?? '', diagnostics)('warning', 'project-not-trusted', message)
  return {
    ...file,
    definition: {
      ...rest,
      ...(trust.hooks && hooks.length > 0 && { hooks }),
      ...(shared.length > 0 && { mcpServers: shared }),
    },
    diagnostics,
  }
}
