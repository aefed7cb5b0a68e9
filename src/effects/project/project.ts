/** What the person and the project bring along, as the engine asks for it. */
import type { MemoryScope, ProjectFacts } from '../../definitions/agent-definition.ts'
import type { ContextDiagnostic } from '../../definitions/context/context-diagnostic.ts'
import type { Skill } from '../../definitions/context/skill.ts'
import type { AgentRegistry, FileDiagnostic } from '../../definitions/files/agent-file.ts'
import type { ScopedHook } from '../../definitions/hooks/scoped-hook.ts'
import type { McpServerConfig } from '../../definitions/mcp-server-config.ts'
import type { SandboxPlan } from '../../definitions/sandbox/options.ts'
import type { WorktreeOptions } from '../../definitions/worktrees/options.ts'
import type { SettingsPermissions } from '../settings/permission-rules.ts'

/** A text for a prompt, and what could not be honoured in making it. */
export interface ProjectText {
  /** Empty when there is nothing to tell. */
  readonly text: string
  readonly diagnostics: readonly ContextDiagnostic[]
}

/** An agent's memory, ready for its prompt. */
export interface ProjectMemory extends ProjectText {
  /** The folder that the agent may write in, links resolved; undefined when it must not. */
  readonly writableRoot: string | undefined
}

/** A shared MCP server of the person or the project. */
export interface ProjectMcpServer {
  readonly name: string
  /** Variables put in. */
  readonly config: McpServerConfig
  /** The file or flag that names it. */
  readonly from: string
}

/** The surroundings of an engine's agents: agent files, skills, instructions, memories, MCP servers. */
export interface Project {
  /** The definitions of this moment: the same object until they change. */
  readonly agents: AgentRegistry
  /** The skills of this moment, sorted by name: the same array until they change. */
  readonly skills: readonly Skill[]
  readonly mcpServers: readonly ProjectMcpServer[]
  /** Rules and mode of settings files. Absent: none says anything. */
  readonly permissions?: SettingsPermissions
  /** How settings files want worktrees to be made. Absent: none says anything. */
  readonly worktree?: WorktreeOptions
  /** The sandbox of the system that settings files want for agents' commands. Absent: none does. */
  readonly sandbox?: SandboxPlan
  /** Further folders that agents work in, absolute, links resolved. Absent: none. */
  readonly directories?: readonly string[]
  /** Variables for commands, hooks and MCP servers. Absent: none. */
  readonly env?: Readonly<Record<string, string>>
  /** Names of environment variables whose values are masked in what agents and logs get. Absent: none. */
  readonly secrets?: readonly string[]
  /** Hooks of settings files, for all agents. */
  readonly hooks: readonly ScopedHook[]
  /** CLAUDE.md files and, unless `gitStatus` is false, the git status, as one message. Never rejects. */
  userContext(cwd: string, options?: { readonly gitStatus?: boolean }): Promise<ProjectText>
  /** Never rejects. */
  memory(scope: MemoryScope, agentType: string): Promise<ProjectMemory>
  /** Where the person's settings are kept, absolute, links of the folder resolved. It need not exist. */
  readonly userSettingsFile: string
  /** For agents that explain the project. */
  readonly facts: ProjectFacts
  /** What could not be honoured when it was opened or last read. */
  readonly diagnostics: readonly FileDiagnostic[]
  /** Called after each change of `agents` or `skills`. Returns how to stop that. */
  onChange(listener: () => void): () => void
  /** Stops watching. */
  close(): Promise<void>
}
