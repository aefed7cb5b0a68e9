/** How an MCP server is reached, as `.mcp.json`, settings and agent files say it. */
import * as z from 'zod'

const Texts = z.record(z.string(), z.string())

/** A server that is a process of ours, spoken to over its standard input and output. */
const StdioServer = z.object({
  type: z.literal('stdio').default('stdio'),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: Texts.default({}),
})

/** A server behind an address. */
const HttpServer = z.object({
  type: z.enum(['http', 'sse']),
  url: z.url({ protocol: /^https?$/ }),
  headers: Texts.default({}),
})

/** One server. Without `type` it is a process. */
export const McpServerConfig = z.union([HttpServer, StdioServer])
export type McpServerConfig = z.infer<typeof McpServerConfig>
