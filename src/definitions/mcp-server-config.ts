/** How an MCP server is reached, as `.mcp.json`, settings and agent files say it. */
import * as z from 'zod'

const Texts = z.record(z.string(), z.string())

/** For each call of a tool: milliseconds without an answer or a sign of progress until it is given up. */
const timeout = z.int().positive().optional()

/** A server that is a process of ours, spoken to over its standard input and output. */
const StdioServer = z.object({
  type: z.literal('stdio'),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: Texts.default({}),
  /** Its working directory; relative to that of whom it serves. Default: that one. */
  cwd: z.string().min(1).optional(),
  timeout,
})

/** A server behind an address. */
const HttpServer = z.object({
  type: z.enum(['http', 'sse']),
  url: z
    .string()
    // What it comes to is known only when its variables have been put in.
    .refine((url) => url.includes('${') || isHttpAddress(url), 'must be an http or https address'),
  headers: Texts.default({}),
  timeout,
})

/** One server. Without `type` it is what its `command` or `url` says. May hold variables (`${NAME}`). */
export const McpServerConfig = z.preprocess(
  withPlainType,
  z.discriminatedUnion('type', [StdioServer, HttpServer]),
)
export type McpServerConfig = z.infer<typeof McpServerConfig>

/** The keys that mean something for a server of this type; any other is not honoured. */
export function mcpServerKeys(type: McpServerConfig['type']): readonly string[] {
  return Object.keys(type === 'stdio' ? StdioServer.shape : HttpServer.shape)
}

const isHttpAddress = (text: string): boolean => z.url({ protocol: /^https?$/ }).safeParse(text).success

/** Other spellings of `http` in use. */
const HTTP_SPELLINGS: readonly unknown[] = ['streamable-http', 'streamableHttp', 'streamable_http']

function withPlainType(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const type = 'type' in value ? value.type : undefined
  if (HTTP_SPELLINGS.includes(type)) return { ...value, type: 'http' }
  if (type !== undefined) return value
  return { ...value, type: 'url' in value && !('command' in value) ? 'http' : 'stdio' }
}
