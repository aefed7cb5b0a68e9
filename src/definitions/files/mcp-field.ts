/**
 * `mcpServers` of an agent: names of shared servers and servers of its own, as a list (`- name`, `- name: config`,
 * `- name: …, command: …`) or as an object of configurations.
 */
import type { AgentMcpServer } from '../agent-definition.ts'
import { McpServerConfig, mcpServerKeys } from '../mcp-server-config.ts'
import { type FileNotes, type Place, quoted } from './file-notes.ts'
import { isRecord } from './plain-data.ts'

/** Reads the servers. A bad one is left out with a warning, the others stay. */
export function readMcpServers(value: unknown, notes: FileNotes, place: Place): readonly AgentMcpServer[] {
  const leaveOut = (what: string, problem: string): readonly AgentMcpServer[] => {
    notes.warn('mcp-server-unreadable', `${what} was left out: ${problem}.`, place)
    return []
  }

  const named = (name: string, config: unknown): readonly AgentMcpServer[] => {
    // `github:` alone is the shared server of that name.
    if (config === null) return [name]
    const read = McpServerConfig.safeParse(config)
    if (!read.success) {
      const problem = read.error.issues
        .slice(0, 3)
        .map(({ path, message }) => (path.length === 0 ? message : `\`${path.join('.')}\`: ${message}`))
      return leaveOut(`The MCP server ${quoted(name)}`, problem.join('; '))
    }
    const known = mcpServerKeys(read.data.type)
    for (const key of isRecord(config) ? Object.keys(config) : []) {
      if (known.includes(key)) continue
      const message = `The key ${quoted(key)} of the MCP server ${quoted(name)} is not honoured. Understood are: ${known.join(', ')}.`
      notes.warn('mcp-key-unknown', message, place)
    }
    return [{ name, config: read.data }]
  }

  const entry = (item: unknown): readonly AgentMcpServer[] => {
    if (item === null) return []
    if (typeof item === 'string') return item.trim() === '' ? [] : [item.trim()]
    if (!isRecord(item)) return leaveOut('An entry of `mcpServers`', 'it is neither a name nor a server')
    const { name, ...config } = item
    if (typeof name === 'string' && ('command' in config || 'url' in config)) return named(name, config)
    return Object.entries(item).flatMap(([key, inner]) => named(key, inner))
  }

  if (typeof value === 'string') return value.split(/[\s,]+/).flatMap(entry)
  if (Array.isArray(value)) return value.flatMap(entry)
  if (isRecord(value)) return Object.entries(value).flatMap(([name, config]) => named(name, config))
  return leaveOut('`mcpServers`', 'it must be a list of names or servers')
}
