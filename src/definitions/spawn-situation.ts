/** What the decision about a spawn looks at, and the two things that it comes to. */
import type { AgentDefinition, Effort } from './agent-definition.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { Features } from './features.ts'
import type { Limits } from './limits.ts'
import type { McpServerFact } from './mcp-requirement.ts'
import type { PermissionMode } from './permission-mode.ts'
import type { PermissionRule } from './permissions/rule.ts'
import type { Resolved } from './resolve.ts'

/** Who calls, as of now. */
export interface SpawnCaller {
  /** 0 for the root, -1 for a host with its own loop. */
  readonly depth: number
  readonly mode: PermissionMode
  /** Id of the model it runs on; undefined where a host calls. */
  readonly model?: string | undefined
  /** From `Agent(a, b)` in its tools. */
  readonly allowedAgentTypes?: readonly string[] | undefined
  /** Its working directory, absolute, where it is not the session's. */
  readonly cwd?: string | undefined
  readonly effort?: Effort | undefined
  /** It was itself started as a fork. Recorded at its spawn, so that no compaction forgets it. */
  readonly isFork?: boolean | undefined
  /** Its conversation carries a fork directive that the engine marked as one. */
  readonly hasForkDirective?: boolean | undefined
  /** It is a teammate, not the lead. */
  readonly teammate?: { readonly backend: 'in-process' | 'tmux' } | undefined
  /** The team of its session. */
  readonly team?: string | undefined
}

/** What is in force for the session, as of now. */
export interface SpawnPolicy {
  readonly limits: Pick<Limits, 'depth' | 'liveAgents' | 'spawns' | 'childMaxTurns'>
  /** Agents alive at this moment, the caller included. */
  readonly live: number
  /** Children started in this session so far. */
  readonly spawns: number
  /** Deny rules in force for the caller; those that speak of `Agent` count. */
  readonly denyRules: readonly PermissionRule[]
  readonly resolveModelId: (name: string) => string
  /** Models that the host pins by the child's permission mode. */
  readonly modelByMode?: Readonly<Partial<Record<PermissionMode, string>>>
  /** Model name of a child that nothing else decides. Default `sonnet`. */
  readonly defaultModel?: string
  /** Ids that are known to exist, where the host knows: others are used, and said to be unknown. */
  readonly knownModels?: readonly string[] | undefined
  /** A definition may be stricter than a permissive parent. Default: the parent's mode holds. */
  readonly definitionsMayBeStricter?: boolean | undefined
  /** What is left out has its default. */
  readonly features?: Partial<Features> | undefined
}

/** Everything a decision looks at besides the input. */
export interface SpawnSituation {
  /** The active definitions. */
  readonly definitions: readonly AgentDefinition[]
  readonly caller: SpawnCaller
  readonly policy: SpawnPolicy
  /** Left out: there is none. */
  readonly mcpServers?: readonly McpServerFact[]
  /** What only an embedding host can ask for. Stronger than a definition. */
  readonly hostChoices?: { readonly maxTurns?: number | undefined; readonly tokens?: number | undefined }
}

/** Where an agent works. */
export type Isolation = 'none' | 'worktree' | 'remote'

/** Something about a plan that its caller or its author may not expect. */
export type PlanNote = Pick<Diagnostic, 'code' | 'message'>

/**
 * What an agent is about to be, each resolved value with the rule that decided it. Kinds of agents differ by what
 * stands in here, and whoever carries a plan out asks for nothing else. An alias, not an interface: only those are
 * assignable to the log's schema, which keeps fields that it does not know.
 */
export type SpawnPlan = {
  readonly agentType: string
  readonly description: string
  readonly model: Resolved<string>
  readonly mode: Resolved<PermissionMode>
  readonly maxTurns: Resolved<number>
  readonly isolation: Resolved<Isolation>
  readonly background: Resolved<boolean>
  readonly thinking: Resolved<'off' | 'inherited'>
  readonly effort?: Resolved<Effort>
  /** Tokens that a run may use. */
  readonly tokens?: Resolved<number>
  /** What it takes over of the caller's conversation. Absent: nothing, it starts from the task alone. */
  readonly conversation?: Resolved<'all' | 'turn'>
  /** Absolute. Absent: the session's. The log keeps it as a plain text, so that its rule stands beside it. */
  readonly cwd?: string
  readonly cwdRule?: string
  /** System prompt and tools are the caller's, byte for byte. */
  readonly isFork?: true
  /** Under which others can send it messages. */
  readonly name?: string
  /** The team that it joins under its name. */
  readonly team?: string
  /** Parts of names of MCP servers that are still starting and have to be waited for before anything is made. */
  readonly awaitMcp?: readonly string[]
  readonly notes?: readonly PlanNote[]
}

/** Why nothing was created. */
export type SpawnRefusalCode =
  | 'agent-type-not-allowed'
  | 'background-in-teammate'
  | 'cwd-with-isolation'
  | 'denied-by-rule'
  | 'depth-limit'
  | 'fork-in-fork'
  | 'isolation-unavailable'
  | 'live-agents-limit'
  | 'mcp-servers-missing'
  | 'agent-name-unusable'
  | 'spawns-limit'
  | 'team-roster-flat'
  | 'teammate-without-name'
  | 'teams-off'
  | 'unknown-agent-type'

/** Why nothing was created. The message is for the model that called, and says what to do. */
export interface SpawnRefusal {
  readonly kind: 'refused'
  readonly code: SpawnRefusalCode
  readonly message: string
}

/** A refusal. */
export function refused(code: SpawnRefusalCode, message: string): SpawnRefusal {
  return { kind: 'refused', code, message }
}
