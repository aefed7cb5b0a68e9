/** The description of a kind of agent. */
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

/** What a definition's prompt may depend on. */
export interface PromptContext {
  /** The agent's one working directory, absolute. */
  readonly cwd: string
}

/** A kind of agent: prompt, tools, model, permissions. */
export interface AgentDefinition {
  readonly agentType: string
  /** When a parent should choose it; shown to models. */
  readonly whenToUse: string
  getSystemPrompt(context: PromptContext): string
  /** Names; `*` or absent = all that a child may have. */
  readonly tools?: readonly string[]
  readonly disallowedTools?: readonly string[]
  /** `inherit` (the default) = the parent's; an alias; a full id. */
  readonly model?: string
  readonly permissionMode?: PermissionMode
  /** Model replies a run may take. */
  readonly maxTurns?: number
  /** Its result ends without the note on how to continue it. */
  readonly isOneShot?: boolean
  readonly source: DefinitionSource
}
