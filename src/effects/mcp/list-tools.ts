/** Asks a server for its tools. What one tool has wrong does not lose the others. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import * as z from 'zod'
import type { McpDiagnosticCode } from './diagnostic.ts'
import { quoted } from './text.ts'

/** A tool as a server describes it. */
const ListedTool = z.looseObject({
  name: z.string().min(1),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.record(z.string(), z.unknown()),
  annotations: z
    .looseObject({
      readOnlyHint: z.boolean().optional(),
      destructiveHint: z.boolean().optional(),
      idempotentHint: z.boolean().optional(),
    })
    .optional(),
})
export type ListedTool = z.infer<typeof ListedTool>

const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })

/** Tells of a tool that is not, or not wholly, honoured. */
export type TellOfTool = (severity: 'error' | 'warning', code: McpDiagnosticCode, message: string) => void

const MAX_TOOLS = 1000
const MAX_PAGES = 100
/** Whoever walks through what a server said of a tool may do so by recursion. */
const MAX_DEPTH = 64

/** Longest that the SDK's own timer takes: time is watched with the engine's clock. */
export const NO_SDK_TIMEOUT = { timeout: 2 ** 31 - 1 } as const

/**
 * All tools, page by page, in the order of their names, so that equal sets give equal requests.
 *
 * @throws Error what the SDK throws when the server does not answer, or not with a list.
 */
export async function listTools(client: Client, tell: TellOfTool): Promise<readonly ListedTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return []
  const raw: unknown[] = []
  let cursor: string | undefined
  for (let page = 0; page === 0 || cursor !== undefined; page++) {
    if (page === MAX_PAGES || raw.length > MAX_TOOLS) break
    const request = { method: 'tools/list' as const, params: cursor === undefined ? {} : { cursor } }
    const answer = await client.request(request, Page, NO_SDK_TIMEOUT)
    raw.push(...answer.tools)
    cursor = answer.nextCursor
  }
  if (cursor !== undefined || raw.length > MAX_TOOLS) {
    tell('error', 'mcp-tools-cut', `it lists more tools than the ${MAX_TOOLS} that are taken of one server`)
  }
  return distinct(
    raw.slice(0, MAX_TOOLS).flatMap((each) => readTool(each, tell)),
    tell,
  )
}

function readTool(raw: unknown, tell: TellOfTool): readonly ListedTool[] {
  const parsed = ListedTool.safeParse(raw)
  const isTooDeep = isDeeper(raw, MAX_DEPTH)
  if (parsed.success && !isTooDeep) return [parsed.data]
  const name =
    typeof raw === 'object' && raw !== null && 'name' in raw ? quoted(String(raw.name), 80) : 'a tool'
  const issue = parsed.error?.issues[0]
  const problem = isTooDeep
    ? `it is nested more than ${MAX_DEPTH} deep`
    : issue && `\`${issue.path.join('.')}\`: ${issue.message}`
  tell('error', 'mcp-tool-unreadable', `its tool ${name} was left out: ${problem}`)
  return []
}

function distinct(tools: readonly ListedTool[], tell: TellOfTool): readonly ListedTool[] {
  const byName = new Map<string, ListedTool>()
  for (const tool of tools) {
    if (byName.has(tool.name)) {
      tell('error', 'mcp-name-taken', `it lists ${quoted(tool.name, 80)} twice; the first was taken`)
      continue
    }
    byName.set(tool.name, tool)
  }
  return [...byName.values()].sort((left, right) => (left.name < right.name ? -1 : 1))
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((part) => isDeeper(part, depth - 1))
}
