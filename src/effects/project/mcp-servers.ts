/**
 * The shared MCP servers of the person, the project and the command line.
 *
 * V1 Of one name (case ignored) the strongest place decides: flag, local, project, user; of one place the first
 *    file. The others are told.
 * V2 A project's servers are programs that its author chose: they are there only when the project is trusted, or
 *    the person's own settings let them be.
 */
import { resolve } from 'node:path'
import { printable } from '../../definitions/context/text.ts'
import type { FileDiagnostic } from '../../definitions/files/agent-file.ts'
import type { McpServerConfig } from '../../definitions/mcp-server-config.ts'
import type { Environment } from '../mcp/expand-variables.ts'
import { parseMcpConfig } from '../mcp/parse-config.ts'
import { teller } from './diagnostic.ts'
import type { ProjectMcpServer } from './project.ts'
import { readSettingsText } from './read-text.ts'
import type { SurroundingSettings } from './settings.ts'

/** What the servers are gathered from. */
export interface McpSources {
  /** Folder of relative paths in `configs`. */
  readonly cwd: string
  readonly environment: Environment
  /** Files, or JSON texts, of `--mcp-config`. */
  readonly configs: readonly string[]
  /** `.mcp.json`, with the folder, resolved, that it must lie in. */
  readonly mcpJson: { readonly path: string; readonly within: string }
  readonly settings: readonly SurroundingSettings[]
  readonly isTrusted: boolean
}

/** What was gathered. */
export interface McpReading {
  /** Sorted by name. */
  readonly servers: readonly ProjectMcpServer[]
  readonly diagnostics: readonly FileDiagnostic[]
  /** The person lets all servers of projects be. */
  readonly allowsAll: boolean
}

type ServerScope = 'flag' | 'local' | 'project' | 'user'

const STRONGEST_FIRST: readonly ServerScope[] = ['flag', 'local', 'project', 'user']

interface Source {
  readonly scope: ServerScope
  readonly from: string
  readonly servers: ReadonlyMap<string, McpServerConfig>
}

/** Gathers the servers. Starts none of them. Never rejects. */
export async function gatherMcpServers(sources: McpSources): Promise<McpReading> {
  const { settings, isTrusted } = sources
  const diagnostics: FileDiagnostic[] = []
  const own = settings.filter(({ scope }) => scope === 'policy' || scope === 'user')
  const allowsAll = own.some((each) => each.enableAllProjectMcpServers)
  const allowed = new Set(own.flatMap((each) => each.enabledMcpjsonServers))
  const denied = new Set(settings.flatMap((each) => each.disabledMcpjsonServers))
  const all = [
    ...(await fromFlags(sources, diagnostics)),
    ...(await fromMcpJson(sources, diagnostics)),
    ...settings.map((each) => fromSettings(each, sources.environment, diagnostics)),
  ]
  const mayBe = (source: Source, name: string): boolean =>
    !isProjects(source) || (!denied.has(name) && (isTrusted || allowsAll || allowed.has(name)))
  const ranked = STRONGEST_FIRST.flatMap((scope) => all.filter((source) => source.scope === scope))
  const winners = new Map<string, ProjectMcpServer>()
  for (const source of ranked) {
    const tell = teller(source.from, diagnostics)
    const withheld = [...source.servers.keys()].filter((name) => !mayBe(source, name))
    const untrusted = withheld.filter((name) => !denied.has(name))
    if (untrusted.length > 0) {
      const message = `The MCP servers ${untrusted.map(printable).join(', ')} of this project are not there, because the project is not trusted. Look at what they run; then trust the project (--trust-project), or name them in enabledMcpjsonServers of your own settings.`
      tell('warning', 'project-not-trusted', message)
    }
    for (const [name, config] of source.servers) {
      if (withheld.includes(name)) continue
      const winner = winners.get(name.toLowerCase())
      if (winner === undefined) winners.set(name.toLowerCase(), { name, config, from: source.from })
      else {
        const message = `The MCP server ${printable(name)} (${source.scope}) is not used: that of ${printable(winner.from)} comes first. Give one of them another name.`
        tell('warning', 'mcp-server-shadowed', message)
      }
    }
  }
  const servers = [...winners].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, server]) => server)
  return { servers, diagnostics, allowsAll }
}

const isProjects = ({ scope }: Source): boolean => scope === 'project' || scope === 'local'

async function fromFlags(
  { cwd, configs, environment }: McpSources,
  diagnostics: FileDiagnostic[],
): Promise<readonly Source[]> {
  return Promise.all(
    configs.map(async (config): Promise<Source> => {
      const isText = config.trimStart().startsWith('{')
      const from = isText ? '--mcp-config' : resolve(cwd, config)
      // The person named the file: it may lie anywhere.
      const read = isText
        ? ({ kind: 'text', text: config } as const)
        : await readSettingsText(from, undefined)
      if (read.kind === 'text') return parsed('flag', from, read.text, environment, diagnostics)
      const reason = read.kind === 'missing' ? 'there is no such file' : read.reason
      const message = `${printable(from)} (--mcp-config) cannot be read: ${reason}. Give a file, or the JSON itself.`
      teller(from, diagnostics)('error', 'mcp-config-unreadable', message)
      return { scope: 'flag', from, servers: new Map() }
    }),
  )
}

async function fromMcpJson(
  { mcpJson: { path, within }, environment }: McpSources,
  diagnostics: FileDiagnostic[],
): Promise<readonly Source[]> {
  const read = await readSettingsText(path, within)
  if (read.kind === 'missing') return []
  if (read.kind === 'text') return [parsed('project', path, read.text, environment, diagnostics)]
  const code = read.kind === 'outside' ? 'settings-outside' : 'settings-unreadable'
  teller(path, diagnostics)('error', code, `No MCP server was read from it: ${read.reason}.`)
  return []
}

function fromSettings(
  { scope, path, mcpServers }: SurroundingSettings,
  environment: Environment,
  diagnostics: FileDiagnostic[],
): Source {
  // A policy brings no servers of its own; what its file holds of them is the person's.
  const rank = scope === 'policy' ? 'user' : scope === 'flags' ? 'flag' : scope
  if (Object.keys(mcpServers).length === 0) return { scope: rank, from: path, servers: new Map() }
  return parsed(rank, path, JSON.stringify({ mcpServers }), environment, diagnostics)
}

function parsed(
  scope: ServerScope,
  from: string,
  text: string,
  environment: Environment,
  diagnostics: FileDiagnostic[],
): Source {
  const read = parseMcpConfig(text, { file: from, environment })
  diagnostics.push(...read.diagnostics)
  return { scope, from, servers: read.servers }
}
