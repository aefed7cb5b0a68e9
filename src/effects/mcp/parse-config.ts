/** Reads `.mcp.json` and what `--mcp-config` names. */
import type * as z from 'zod'
import type { FileDiagnostic } from '../../definitions/files/agent-file.ts'
import { McpServerConfig, mcpServerKeys } from '../../definitions/mcp-server-config.ts'
import { messageOf } from '../../definitions/message-of.ts'
import type { McpDiagnosticCode } from './diagnostic.ts'
import { type Environment, expandMcpServerConfig } from './expand-variables.ts'
import { normalServerName } from './names.ts'

/** The servers of a file. */
export interface ParsedMcpConfig {
  /** In the order of the file, variables put in. */
  readonly servers: ReadonlyMap<string, McpServerConfig>
  readonly diagnostics: readonly FileDiagnostic[]
}

/** Where a text stands, and what its variables come to. */
export interface McpConfigOrigin {
  /** Absolute path, or the place in words. */
  readonly file: string
  readonly environment: Environment
}

type Tell = (severity: FileDiagnostic['severity'], code: McpDiagnosticCode, message: string) => void

/**
 * Reads `{"mcpServers": {name: server, …}}`, or the inner object alone. A bad entry is a diagnostic and the
 * others stay. Never throws; no message holds the value of a variable.
 */
export function parseMcpConfig(text: string, { file, environment }: McpConfigOrigin): ParsedMcpConfig {
  const servers = new Map<string, McpServerConfig>()
  const diagnostics: FileDiagnostic[] = []
  const tell: Tell = (severity, code, message) => diagnostics.push({ severity, code, message, file })

  const read = readEntries(text)
  if (read.kind === 'broken') {
    const { problem, place } = read
    diagnostics.push({ severity: 'error', code: 'mcp-file-unreadable', message: problem, file, ...place })
    return { servers, diagnostics }
  }
  for (const [written, entry] of read.entries) {
    const name = normalServerName(written)
    const config = readServer(written, entry, environment, tell)
    if (config === undefined) continue
    const holder = [...servers.keys()].find((other) => other.toLowerCase() === name.toLowerCase())
    if (holder !== undefined) {
      const message = `The MCP server ${show(written)} was left out: as ${name} it has the name of another, ${holder}. Rename one of them.`
      tell('error', 'mcp-name-taken', message)
      continue
    }
    if (name !== written) {
      const message = `The MCP server ${show(written)} is called ${name}: names are of A-Z, a-z, 0-9, - and single _, at most 40 long.`
      tell('warning', 'mcp-server-renamed', message)
    }
    servers.set(name, config)
  }
  return { servers, diagnostics }
}

type Entries =
  | { readonly kind: 'read'; readonly entries: readonly (readonly [string, unknown])[] }
  | {
      readonly kind: 'broken'
      readonly problem: string
      readonly place?: { readonly line: number; readonly column: number }
    }

function readEntries(text: string): Entries {
  const json = text.replace(/^\ufeff/, '')
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    const reason = messageOf(error)
    const place = placeIn(json, reason)
    return {
      kind: 'broken',
      problem: 'The file is no JSON: no MCP server was read from it.',
      ...(place && { place }),
    }
  }
  const outer = isObject(value) && 'mcpServers' in value ? value['mcpServers'] : value
  if (isObject(outer)) return { kind: 'read', entries: Object.entries(outer) }
  return { kind: 'broken', problem: 'The file must be an object {"mcpServers": {"name": {…}}}.' }
}

function readServer(
  name: string,
  entry: unknown,
  environment: Environment,
  tell: Tell,
): McpServerConfig | undefined {
  const leaveOut = (problem: string): undefined => {
    tell('error', 'mcp-server-unreadable', `The MCP server ${show(name)} was left out: ${problem}.`)
    return undefined
  }
  const parsed = McpServerConfig.safeParse(entry)
  if (!parsed.success) return leaveOut(sentence(parsed.error))
  const known = mcpServerKeys(parsed.data.type)
  for (const key of Object.keys(isObject(entry) ? entry : {}).filter((each) => !known.includes(each))) {
    const message = `The key ${show(key)} of the MCP server ${show(name)} is not honoured. Understood are: ${known.join(', ')}.`
    tell('warning', 'mcp-key-unknown', message)
  }
  const expanded = expandMcpServerConfig(parsed.data, environment)
  for (const variable of expanded.missing) {
    const message = `The variable ${variable} in the MCP server ${show(name)} is not set: its text stays as written. Set it, or write \${${variable}:-default}.`
    tell('warning', 'mcp-variable-missing', message)
  }
  return expanded.kind === 'expanded' ? expanded.config : leaveOut(expanded.problem)
}

function sentence(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map((issue) =>
      issue.path.length === 0 ? issue.message : `\`${issue.path.join('.')}\`: ${issue.message}`,
    )
    .join('; ')
}

/** Where JSON broke, from the engine's own words, in whichever form this version has them. */
function placeIn(
  text: string,
  reason: string,
): { readonly line: number; readonly column: number } | undefined {
  const position = /at position (\d+)/.exec(reason)?.[1]
  if (position === undefined) return undefined
  const before = text.slice(0, Number(position)).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const show = (name: string): string => JSON.stringify(name.slice(0, 80))
