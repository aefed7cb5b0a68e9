/**
 * What all sessions of an engine share: the ports, and what was resolved from the options once.
 */
import type { InspectionEvent } from 'xstate'
import type { AgentDefinition } from '../definitions/agent-definition.ts'
import type { Features } from '../definitions/features.ts'
import type { Limits } from '../definitions/limits.ts'
import type { PermissionMode } from '../definitions/permission-mode.ts'
import type { PermissionRule } from '../definitions/permissions/rule.ts'
import type { PriceList } from '../definitions/prices.ts'
import type { Clock } from '../effects/clock.ts'
import type { Ids } from '../effects/ids.ts'
import type { OpenLink } from '../effects/mcp/server-link.ts'
import type { Model } from '../effects/model/model.ts'
import type { OutputFiles } from '../effects/output-files.ts'
import type { ProcessRunner } from '../effects/process/process-runner.ts'
import type { Project, ProjectMcpServer } from '../effects/project/project.ts'
import type { Sandbox } from '../effects/sandbox/sandbox.ts'
import type { SecretMask } from '../effects/secret-mask.ts'
import type { ToolTable } from '../effects/tools/tool-table.ts'
import type { Worktrees } from '../effects/worktrees/worktrees.ts'
import type { LockInfo } from '../journal/session-lock.ts'
import type { Storage } from '../journal/storage.ts'
import type { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type {
  EngineEvent,
  PermissionOptions,
  QuestionAnswer,
  QuestionOptions,
  QuestionRequest,
} from './api.ts'
import type { Approvals } from './approvals.ts'
import type { EngineDiagnosticCode } from './errors.ts'
import type { EngineHooks } from './hooks/engine-hooks.ts'
import type { KeepAlive } from './keep-alive.ts'
import type { RunMachine } from './run-actor.ts'
import type { WaitingAnswers } from './waiting-answers.ts'

export interface EngineCore {
  readonly storage: Storage
  readonly clock: Clock
  readonly ids: Ids
  readonly processes: ProcessRunner
  /** Holds commands of agents. Undefined: they run as the person does. */
  readonly sandbox: Sandbox | undefined
  /** Retries, clocks and the provider's gate included. */
  readonly model: Model
  readonly maxTokens: number
  /** Answers where an agent's own model cannot. */
  readonly fallbackModel: string | undefined
  /** Prices and context windows. */
  readonly modelFacts: PriceList
  readonly tools: ToolTable
  /** Held by every run that is on. */
  readonly keepAlive: KeepAlive
  /** Where agents in the background write what they do; undefined: nowhere. */
  readonly outputFiles: OutputFiles | undefined
  /** The definitions of this moment: the same array until they change. */
  readonly definitions: readonly AgentDefinition[]
  /** What the person and the project bring along. */
  readonly project: Project | undefined
  readonly features: Features
  /** Loaded with the first agent that works in one. */
  readonly worktrees: () => Promise<Worktrees>
  /** MCP servers that all agents share. */
  readonly mcpServers: readonly ProjectMcpServer[]
  /** Variables that no command and no server inherits. */
  readonly withheldEnv: readonly string[]
  /** Variables of settings for commands, hooks and servers, without those that are withheld. */
  readonly env: Readonly<Record<string, string>>
  /** What takes the values of secrets out of results and outputs of hooks. */
  readonly mask: SecretMask
  /** Folders besides their working directories that agents work in: absolute, links resolved. */
  readonly directories: readonly string[]
  readonly openMcpLink: OpenLink | undefined
  readonly root: RootOptions
  readonly limits: Limits
  /** Events between two snapshots of a log. */
  readonly snapshotEvery: number
  readonly rules: {
    readonly allow: readonly PermissionRule[]
    readonly deny: readonly PermissionRule[]
    readonly ask: readonly PermissionRule[]
  }
  /** Who can be asked about a call that needs approval, and who answers questions. */
  readonly asking: {
    readonly canUseTool: PermissionOptions['canUseTool'] | undefined
    readonly mayWait: boolean
    readonly answerQuestion: QuestionOptions['answer'] | undefined
    readonly questionsWait: boolean
  }
  /** The classifier: its model, and milliseconds for one judgement. */
  readonly review: {
    readonly modelId: string
    readonly timeoutMs: number
    /** Runs in the background end before their review. */
    readonly isDeferred: boolean
  }
  readonly approvals: Approvals
  readonly questions: WaitingAnswers<QuestionRequest, QuestionAnswer>
  readonly hooks: EngineHooks
  /** Absolute, symlinks resolved. */
  readonly cwd: string
  readonly home: string
  readonly gitBranch: string | undefined
  readonly resolveModelId: (name: string) => string
  /** The agent machine with this engine's effects. */
  readonly machine: () => RunMachine
  readonly inspect: ((agent: Agent) => (event: InspectionEvent) => void) | undefined
  /** Every live agent of every open session. */
  readonly agents: Map<AgentId, Agent>
  /** What this engine says about itself in the locks of its sessions. */
  readonly lockInfo: LockInfo
  emit(event: EngineEvent): void
  /** Says what could not be honoured. */
  diagnose(code: EngineDiagnosticCode, message: string): void
}

/** How the root agent of a session is made. */
export interface RootOptions {
  readonly modelId: string
  readonly mode: PermissionMode
  readonly systemPrompt: string | undefined
  readonly appendSystemPrompt: string | undefined
}
