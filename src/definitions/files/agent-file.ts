/** What comes of reading a file that may describe an agent. */
import type { AgentDefinition, DefinitionSource } from '../agent-definition.ts'

/** Something about a file that its author should know. */
export interface FileDiagnostic {
  /** `error`: the file gives no agent. `warning`: it does, but not as it is written. */
  readonly severity: 'error' | 'warning'
  /** Stable name of the kind of problem, kebab-case. */
  readonly code: string
  /** What is wrong and what to do, in one sentence or two. */
  readonly message: string
  /** Absolute path. */
  readonly file: string
  /** From 1; absent where it is about the whole file. */
  readonly line?: number
  /** From 1. */
  readonly column?: number
}

/** Where a file stands: what its text alone does not say. */
export interface FileOrigin {
  /** Absolute path; for flags and plugin JSON the place in words. */
  readonly path: string
  readonly source: DefinitionSource
  /** Name of the plugin that brings it: its agents are called `plugin:name`. */
  readonly plugin?: string
  /** Folder that relative paths in it start from, absolute. */
  readonly baseDir?: string
}

/** A file as read. A file without frontmatter beside agents is no agent and no mistake. */
export type AgentFile =
  | {
      readonly kind: 'agent'
      /** `repaired`: its YAML could not be read, its known keys could. */
      readonly mode: 'strict' | 'repaired'
      readonly definition: AgentDefinition
      /** Keys that mean nothing here, with their values as plain data. */
      readonly unknownKeys: Readonly<Record<string, unknown>>
      readonly diagnostics: readonly FileDiagnostic[]
    }
  | { readonly kind: 'not-an-agent'; readonly file: string; readonly diagnostics: readonly FileDiagnostic[] }
  | { readonly kind: 'failed'; readonly file: string; readonly diagnostics: readonly FileDiagnostic[] }

/** A definition among all that were found. */
export interface FoundAgent {
  readonly definition: AgentDefinition
  /** The one that won its name, when it is not this. */
  readonly shadowedBy: AgentDefinition | undefined
}

/** All definitions of a moment. */
export interface AgentRegistry {
  /** Those that can be spawned, one for each name. */
  readonly activeAgents: readonly AgentDefinition[]
  readonly allAgents: readonly FoundAgent[]
  readonly failedFiles: readonly { readonly file: string; readonly reason: string }[]
  readonly diagnostics: readonly FileDiagnostic[]
}
