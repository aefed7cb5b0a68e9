/** The tools of an MCP server, as the engine takes tools. */
import type { ResumeRule, Tool, ToolContext, ToolOutput } from '../tools/tool.ts'
import { checkBySchema, shownSchema } from './input-schema.ts'
import type { ListedTool, TellOfTool } from './list-tools.ts'
import { toolNames } from './names.ts'
import { capped, quoted } from './text.ts'

/** One call, as it goes to the server. */
export interface McpCall {
  /** The server's own name of the tool. */
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
  /** For a server that can tell a repeated call by it; undefined where repeating is harmless or forbidden. */
  readonly key: string | undefined
}

/** Calls the server. Resolves with an error output for whatever goes wrong, except that the signal aborts. */
export type CallServer = (call: McpCall, context: Pick<ToolContext, 'signal'>) => Promise<ToolOutput>

const MAX_DESCRIPTION = 4000

/**
 * The tools that a model can be given of those that a server lists. A tool that only reads is `repeat`; one that
 * says that doing it twice is as doing it once is `keyed`: its start is recorded, since it changes the world, and
 * it is called again with the same key. All others are `interrupt`.
 */
export function mcpTools(
  server: string,
  listed: readonly ListedTool[],
  call: CallServer,
  tell: TellOfTool,
): readonly Tool[] {
  const names = toolNames(
    server,
    listed.map(({ name }) => name),
  )
  return listed.flatMap((tool) => {
    const own = quoted(tool.name, 80)
    const shown = shownSchema(tool.inputSchema)
    if (shown.kind === 'impossible') {
      tell('error', 'mcp-tool-unreadable', `its tool ${own} was left out: ${shown.problem}`)
      return []
    }
    if (shown.hidden.length > 0) {
      const keywords = shown.hidden.join(', ')
      const message = `the input schema of its tool ${own} has ${keywords} at the top, which models cannot be shown; inputs are checked by it all the same`
      tell('warning', 'mcp-tool-schema', message)
    }
    const schema = checkBySchema(tool.inputSchema, (reason) => {
      const message = `the input schema of its tool ${own} cannot be used, so inputs go to it unchecked: ${quoted(reason, 200)}`
      tell('warning', 'mcp-tool-schema', message)
    })
    const isReadOnly = tool.annotations?.readOnlyHint === true && tool.annotations.destructiveHint !== true
    const resume = resumeRuleOf(tool, isReadOnly)
    const made: Tool<Readonly<Record<string, unknown>>> = {
      name: names.get(tool.name) ?? tool.name,
      description: descriptionOf(server, tool),
      inputSchema: schema,
      jsonSchema: shown.schema,
      resume,
      isReadOnly: () => isReadOnly,
      isConcurrencySafe: () => isReadOnly,
      run: (input, context) =>
        call({ tool: tool.name, input, key: resume === 'keyed' ? context.key : undefined }, context),
    }
    return [made]
  })
}

function resumeRuleOf({ annotations }: ListedTool, isReadOnly: boolean): ResumeRule {
  if (isReadOnly) return 'repeat'
  return annotations?.idempotentHint === true ? 'keyed' : 'interrupt'
}

function descriptionOf(server: string, tool: ListedTool): string {
  const words =
    tool.description?.trim() || tool.title?.trim() || `${tool.name}, a tool of the MCP server ${server}.`
  return capped(words, MAX_DESCRIPTION)
}
