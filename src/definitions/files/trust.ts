/**
 * What of a definition is in force when only plugins may customise.
 *
 * Plugins, policy and the built-in definitions are trusted. Of the others the named surfaces are not registered; the
 * agent still runs.
 *
 * - `hooks`: none of its hooks run.
 * - `mcp`: it brings no servers, neither by name nor its own. What it requires it still requires.
 * - `tools`: its list could only be dropped by giving it all tools, so the list stays as a limit: what it names beyond
 *   the tools of this product (`mcp__…`, tools of the host) is taken out, and what is left is all that it has. Without
 *   a list, or with `*`, it has what every agent has. `disallowedTools` only takes away and stays.
 */
import type { AgentDefinition, DefinitionSource } from '../agent-definition.ts'
import { readRule } from '../permissions/rule.ts'
import { isKnownTool } from '../tool-names.ts'

/** Parts of a definition that a policy can reserve for plugins. */
export type TrustSurface = 'hooks' | 'mcp' | 'tools'

/** Which surfaces untrusted definitions may not use. */
export interface DefinitionTrust {
  /** `true`: all surfaces. */
  readonly strictPluginOnlyCustomization?: boolean | readonly TrustSurface[]
}

/** A definition as it may be used, and what it lost, in words. */
export interface TrustedDefinition {
  readonly definition: AgentDefinition
  readonly losses: readonly string[]
}

const TRUSTED_SOURCES: readonly DefinitionSource[] = ['built-in', 'plugin', 'policySettings']

/** Takes from a definition what may not be registered. A definition that loses nothing comes back itself. */
export function applyTrust(definition: AgentDefinition, trust: DefinitionTrust): TrustedDefinition {
  const strict = trust.strictPluginOnlyCustomization ?? false
  const isClosed = (surface: TrustSurface): boolean =>
    typeof strict === 'boolean' ? strict : strict.includes(surface)
  if (TRUSTED_SOURCES.includes(definition.source)) return { definition, losses: [] }
  const losses: string[] = []
  let trusted = definition
  if (isClosed('hooks') && (trusted.hooks?.length ?? 0) > 0) {
    const { hooks, ...rest } = trusted
    trusted = rest
    losses.push(`its ${hooks?.length ?? 0} hooks do not run`)
  }
  if (isClosed('mcp') && (trusted.mcpServers?.length ?? 0) > 0) {
    const { mcpServers, ...rest } = trusted
    const names = (mcpServers ?? []).map((server) => (typeof server === 'string' ? server : server.name))
    trusted = rest
    losses.push(`its MCP servers (${names.join(', ')}) are not there`)
  }
  if (isClosed('tools')) {
    const tools = trusted.tools ?? []
    const left = tools.filter(isOwnTool)
    if (left.length < tools.length) {
      trusted = { ...trusted, tools: left }
      losses.push(`its tools ${tools.filter((tool) => !left.includes(tool)).join(', ')} are not there`)
    }
  }
  return { definition: trusted, losses }
}

/** Is it a tool of this product, or all tools? */
function isOwnTool(entry: string): boolean {
  const rule = readRule(entry)
  return rule.toolName === '*' || isKnownTool(rule.toolName ?? '')
}
