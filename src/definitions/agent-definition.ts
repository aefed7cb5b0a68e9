/** The description of a kind of agent. */
import type { HookDeclaration } from './hook-declaration.ts'
import type { McpServerConfig } from './mcp-server-config.ts'
import type { PermissionMode } from './permission-mode.ts'

/** Where a definition comes from, which decides precedence and trust. */
export type DefinitionSource =
  | 'built-in'
  | 'plugin'
  | 'userSettings'
  | 'projectSettings'
  | 'localSettings'
  | 'flagSettings'
  | 'policySettings'

/** What a definition's prompt may depend on. Each list is sorted by name, so that equal facts give equal bytes. */
export interface PromptContext {
  /** The agent's one working directory, absolute. */
  readonly cwd: string
  /** Names of the tools that the agent has. */
  readonly tools?: readonly string[]
  /** What the project offers, for agents that explain it. */
  readonly project?: ProjectFacts
}

/** What a project brings along, by name. */
export interface ProjectFacts {
  readonly agents: readonly { readonly name: string; readonly description: string }[]
  readonly skills: readonly { readonly name: string; readonly description: string }[]
  readonly mcpServers: readonly string[]
  /** Paths of the settings files that are in force. */
  readonly settingsFiles: readonly string[]
}

/** What `whenToUse` may depend on. */
export interface ListingContext {
  /** Names of the tools that the caller has. */
  readonly callerTools: readonly string[]
}

/** How hard the model thinks: a level, or a token budget. */
export type Effort = 'low' | 'medium' | 'high' | number

/** Where an agent's memory lives: with the person, in the project, or in the project but out of git. */
export type MemoryScope = 'user' | 'project' | 'local'

/** A server that an agent uses: the name of a shared one, or one of its own. */
export type AgentMcpServer = string | { readonly name: string; readonly config: McpServerConfig }

/** A kind of agent: prompt, tools, model, permissions. */
export interface AgentDefinition {
  readonly agentType: string
  /** Other names by which it can be asked for. */
  readonly aliases?: readonly string[]
  /** When a parent should choose it; shown to models. */
  readonly whenToUse: string | ((context: ListingContext) => string)
  getSystemPrompt(context: PromptContext): string
  /** Names; `*` or absent = all that a child may have; none = no tools. `Agent(a, b)` names the types it may start. */
  readonly tools?: readonly string[]
  readonly disallowedTools?: readonly string[]
  /** `inherit` (the default) = the parent's; an alias; a full id. */
  readonly model?: string
  readonly effort?: Effort
  readonly permissionMode?: PermissionMode
  /** `worktree`: it works in a git worktree of its own. */
  readonly isolation?: 'worktree'
  /** Always runs in the background. */
  readonly background?: boolean
  /** Starts from its parent's conversation: all of it, or the current turn. */
  readonly forksParentContext?: true | 'turn'
  /** Parts of names of MCP servers without which it cannot work. */
  readonly requiredMcpServers?: readonly string[]
  readonly mcpServers?: readonly AgentMcpServer[]
  /** Skills that are loaded before its task. */
  readonly skills?: readonly string[]
  readonly hooks?: readonly HookDeclaration[]
  readonly memory?: MemoryScope
  /** Model replies a run may take. */
  readonly maxTurns?: number
  /** Tokens a run may use, input and output. */
  readonly tokens?: number
  /** Put before the task of every run. */
  readonly initialPrompt?: string
  /** It gets no CLAUDE.md and no git status. */
  readonly omitClaudeMd?: boolean
  /** Its prompt is added to the default one instead of replacing it. */
  readonly appendSystemPrompt?: boolean
  /** Repeated after each tool result. */
  readonly criticalSystemReminder?: string
  /** For people: the colour it is shown in. */
  readonly color?: string
  /** JSON Schema that the report must satisfy. */
  readonly outputSchema?: Readonly<Record<string, unknown>>
  /** Its result ends without the note on how to continue it. */
  readonly isOneShot?: boolean
  /** It may edit the person's settings file, wherever that is. For built-in definitions: no file can say so. */
  readonly editsUserSettings?: boolean
  /** It can be asked for but is not in the list that models see. */
  readonly isUnlisted?: boolean
  readonly source: DefinitionSource
  /** Name of the plugin that brought it. */
  readonly plugin?: string
  /** Folder that its relative paths start from, absolute. */
  readonly baseDir?: string
  /** The file that it was read from, absolute. */
  readonly filename?: string
}

/** When a parent should choose it, as text. */
export function whenToUseOf(definition: Pick<AgentDefinition, 'whenToUse'>, context: ListingContext): string {
  const { whenToUse } = definition
  return typeof whenToUse === 'string' ? whenToUse : whenToUse(context)
}
