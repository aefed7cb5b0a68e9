/**
 * The engine as its users see it: options in, runs and events out. One page; implementations are beside it.
 */

import type { Observable } from 'rxjs'
import type { ActorOptions, AnyActorLogic } from 'xstate'
import type { AgentDefinition } from '../definitions/agent-definition.ts'
import type { Features } from '../definitions/features.ts'
import type { Limits } from '../definitions/limits.ts'
import type { McpServerConfig } from '../definitions/mcp-server-config.ts'
import type { PermissionMode } from '../definitions/permission-mode.ts'
import type { ModelFactsTable } from '../definitions/prices.ts'
import type { SandboxOptions } from '../definitions/sandbox/options.ts'
import type { WorktreeOptions } from '../definitions/worktrees/options.ts'
import type { Clock } from '../effects/clock.ts'
import type { AnyHostHook } from '../effects/hooks/hook.ts'
import type { Ids } from '../effects/ids.ts'
import type { Model, ModelDelta } from '../effects/model/model.ts'
import type { RetryPolicy } from '../effects/model/retrying.ts'
import type { ProcessRunner } from '../effects/process/process-runner.ts'
import type { Project } from '../effects/project/project.ts'
import type { PlanAnswer, Question, QuestionsAnswer } from '../effects/tools/ask-person.ts'
import type { Tool } from '../effects/tools/tool.ts'
import type { Worktrees } from '../effects/worktrees/worktrees.ts'
import type { Durability, Storage } from '../journal/storage.ts'
import type { Phase } from '../machines/agent/accepts.ts'
import type { EndStatus, Fault, Outcome, Recorded } from '../machines/agent/events.ts'
import type { PromptContent, Usage } from '../machines/agent/messages.ts'
import type { AgentId, CallId, SessionId } from '../machines/ids.ts'
import type { EngineDiagnosticCode } from './errors.ts'

/** What `createActor` of XState takes as `inspect`: a function, or an observer such as Stately's inspectors have. */
export type Inspector = NonNullable<ActorOptions<AnyActorLogic>['inspect']>

/** What `createEngine` takes. Only `model` is required. */
export interface EngineOptions {
  readonly model: Model
  /** Model id for the root agent. Default `sonnet`, through the alias table. */
  readonly modelId?: string
  /** What `sonnet`, `opus` and `haiku` mean. */
  readonly modelAliases?: Readonly<Record<string, string>>
  /**
   * Answers for the rest of a run when an agent's own model is overloaded or fails and all retries are used up. Default:
   * none; the run fails.
   */
  readonly fallbackModel?: string
  /** `max_tokens` of every request. Default 32,000. */
  readonly maxTokens?: number
  /** The project: working directory of the root agent. Default: the process's. */
  readonly cwd?: string
  /** Folder of everything we write. Default `$TROUPE_HOME`, else `~/.troupe`. */
  readonly home?: string
  /** `write` survives the end of the process, `fsync` the end of the machine. Default `write`. */
  readonly durability?: Durability
  readonly permissions?: PermissionOptions
  /** Who judges where permission mode `auto` is in force: calls, and the work of children before they hand in. */
  readonly review?: ReviewOptions
  /** Who answers questions of the main agent. Default: nobody, and it has no tools that ask. */
  readonly questions?: QuestionOptions
  /** Replaces the whole system prompt of the root agent. */
  readonly systemPrompt?: string
  /** Added at the end of the root agent's system prompt. */
  readonly appendSystemPrompt?: string
  /** Kinds of agents. Default: those of `project`, else the built-in ones. */
  readonly definitions?: readonly AgentDefinition[]
  /**
   * What the person and the project bring along, from `openProject`: agent files, skills, CLAUDE.md, memories, MCP
   * servers. Default: nothing is read. The engine does not close it.
   */
  readonly project?: Project
  /** MCP servers that all agents share, by name. Default: those of `project`. */
  readonly mcpServers?: Readonly<Record<string, McpServerConfig>>
  /** Functions of the host that run at moments of agents' lives; make them with `hostHook`. */
  readonly hooks?: readonly AnyHostHook[]
  /** What is switched on. Default: what the environment says, else the defaults. */
  readonly features?: Partial<Features>
  /**
   * Commands of agents run in a sandbox of the operating system, through `@anthropic-ai/sandbox-runtime`, which is to be
   * installed beside. Default: what `project` says. Where one is wanted and cannot be had, runs reject (`sandbox-missing`,
   * `sandbox-unsupported`, `sandbox-taken`, `sandbox-unreadable`): no command runs without it. Close the engine: until
   * then the sandbox keeps the process alive.
   */
  readonly sandbox?: SandboxOptions
  /** How worktrees of agents are made. Default: what `project` says, else everything is checked out. */
  readonly worktree?: WorktreeOptions
  /** Makes worktrees. Default: git. */
  readonly worktrees?: Worktrees
  /** Tools besides `Agent`. Default: Read, Write, Edit, Glob, Grep, Bash. */
  readonly tools?: readonly Tool[]
  /**
   * Environment variables that no command of an agent inherits. Default: the credentials of the model,
   * `ANTHROPIC_API_KEY` and `ANTHROPIC_AUTH_TOKEN`.
   */
  readonly withheldEnv?: readonly string[]
  readonly limits?: Partial<Limits>
  /**
   * Agents in the background write what they do, and their reports, to `.claude/tasks/<id>.output` in the project.
   * Default: where the engine's own storage is used.
   */
  readonly outputFiles?: boolean
  /** Prices and context windows by the start of a model id, in front of those that are known. */
  readonly modelFacts?: ModelFactsTable
  /** Events between two snapshots of a log, with which a long log opens fast. Default 2,000; `Infinity`: none. */
  readonly snapshotEvery?: number
  /** How often and how patiently a request is tried. */
  readonly retries?: Partial<RetryPolicy>
  /**
   * Stately's inspection events of every actor, as copies: a function, or the `inspect` of an inspector of
   * `@statelyai/inspect`. May throw or be slow: no agent notices.
   */
  readonly inspect?: Inspector
  readonly storage?: Storage
  readonly clock?: Clock
  readonly ids?: Ids
  readonly processes?: ProcessRunner
}

export interface PermissionOptions {
  /** Default `default`. */
  readonly mode?: PermissionMode
  /** Rules, `Tool` or `Tool(specifier)`. */
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  /**
   * Decides about a call that needs approval. Undefined leaves it to {@link Engine.answer}. A failure is a refusal.
   * Without this and without `wait` such calls are refused.
   */
  readonly canUseTool?: (
    request: ApprovalRequest,
    options: { readonly signal: AbortSignal },
  ) => Promise<ApprovalAnswer | undefined> | ApprovalAnswer | undefined
  /** Calls that need approval wait for {@link Engine.answer}. Default false. */
  readonly wait?: boolean
}

export interface ReviewOptions {
  /** Id or alias. Default `haiku`, through the alias table. */
  readonly model?: string
  /** Milliseconds for one judgement, retries included. After that there is none. Default 30,000. */
  readonly timeoutMs?: number
  /**
   * The work of an agent in the background is reviewed when its end is first handed on, and not before it ends: whoever
   * is never told costs no review. Until then nothing of its report is in its output file. Default: false.
   */
  readonly deferBackground?: boolean
}

/** A call that waits for somebody's word. */
export interface ApprovalRequest {
  /** The same after a restart. */
  readonly approvalId: string
  readonly sessionId: SessionId
  readonly agentId: AgentId
  readonly agentType: string
  readonly toolName: string
  readonly toolUseId: string
  readonly input: unknown
  /** Why it was not simply allowed. */
  readonly reason: string
  /** The rules that `always` would grant, together; none where no rule would allow it. */
  readonly suggestions: readonly string[]
  /** For whom they would hold: the whole session, or, of an agent in the background, that agent alone. */
  readonly grantScope: 'session' | 'agent'
}

/** The one answer to it. */
export type ApprovalAnswer =
  | {
      readonly decision: 'allow'
      /** Runs it with this input instead. */
      readonly input?: unknown
      /** Grants the suggested rules, all of them: calls like it need no approval from now on. */
      readonly always?: boolean
    }
  | {
      readonly decision: 'deny'
      /** For the model. */
      readonly message?: string
    }

export interface QuestionOptions {
  /** Answers a question. Undefined leaves it to {@link Engine.answerQuestion}. A failure puts the question away. */
  readonly answer?: (
    request: QuestionRequest,
    options: { readonly signal: AbortSignal },
  ) => Promise<QuestionAnswer | undefined> | QuestionAnswer | undefined
  /** Questions wait for {@link Engine.answerQuestion}. Default false. */
  readonly wait?: boolean
}

/** A question of the main agent that waits for its answer. */
export interface QuestionRequest {
  /** The same after a restart. */
  readonly questionId: string
  readonly sessionId: SessionId
  readonly agentId: AgentId
  readonly agentType: string
  /** Whether a plan may be carried out, or up to four questions at once. */
  readonly question: Question
}

/**
 * The one answer to it, of its kind. `none`: put away unanswered; the agent goes on by itself. An approved plan may
 * say in which permission mode it is carried out; else it is the mode before plan.
 */
export type QuestionAnswer = PlanAnswer | QuestionsAnswer | { readonly kind: 'none' }

/** How a run ended. */
export type RunResult = {
  readonly sessionId: SessionId
  readonly agentId: AgentId
  readonly run: number
  readonly status: EndStatus
  readonly outcome: Outcome
  /** The report: text of the last reply that has any. Empty when there is none. */
  readonly text: string
  readonly stopReason: string | undefined
  readonly turns: number
  readonly toolUses: number
  /** Of the last request. */
  readonly usage: Usage
  /** Own requests of this run and those of all descendants it started. */
  readonly totalUsage: Usage
  /** The same, per model. */
  readonly modelUsage: Readonly<Record<string, Usage>>
  readonly durationMs: number
  /** Time spent in model requests, own and descendants'. */
  readonly apiDurationMs: number
  readonly denials: readonly Denial[]
  /** The worktree that was kept, because something in it would have been lost. */
  readonly worktreePath?: string
  readonly worktreeBranch?: string
  /** Present when `status` is `failed`. */
  readonly fault?: Fault
}

/** A call that permissions refused, with the rule or mode that decided. */
export interface Denial {
  readonly agentId: AgentId
  readonly callId: CallId
  readonly toolName: string
  readonly toolUseId: string
  readonly toolInput: unknown
  readonly reason: string
}

/** Everything that happens in an engine. Facts are durable before they are seen here. */
export type EngineEvent =
  | ({ readonly kind: 'fact'; readonly sessionId: SessionId; readonly agentId: AgentId } & Recorded)
  | {
      readonly kind: 'delta'
      readonly sessionId: SessionId
      readonly agentId: AgentId
      readonly delta: ModelDelta
    }
  /** An event came too late to be taken; it is not in the log. */
  | {
      readonly kind: 'late'
      readonly sessionId: SessionId
      readonly agentId: AgentId
      readonly type: string
      readonly count: number
    }
  /** A call waits for an answer. Told again when its session is brought back. */
  | { readonly kind: 'approval'; readonly request: ApprovalRequest }
  /** A question waits for an answer. Told again when its session is brought back. */
  | { readonly kind: 'question'; readonly request: QuestionRequest }
  /** Something could not be honoured (law 11). */
  | { readonly kind: 'diagnostic'; readonly code: EngineDiagnosticCode; readonly message: string }

/** A run as its caller holds it. Iterating it gives the facts of its whole tree, root and descendants. */
export interface Run extends AsyncIterable<Extract<EngineEvent, { kind: 'fact' }>> {
  readonly sessionId: SessionId
  /** The agent, as soon as its run is in the log; rejects when it cannot start. */
  readonly started: Promise<AgentId>
  /** Resolves however the run ends; rejects only when the engine itself cannot go on (journal, close). */
  readonly result: Promise<RunResult>
  /** Deltas of this agent's replies while they stream. */
  readonly deltas$: Observable<ModelDelta>
  /** The phase, now and at each change; completes at the end. */
  readonly state$: Observable<Phase>
}

/** An agent, as a view. */
export interface AgentView {
  readonly sessionId: SessionId
  readonly agentId: AgentId
  readonly agentType: string
  /** What others may call it. */
  readonly name: string | undefined
  readonly description: string
  readonly parentAgentId: AgentId | undefined
  readonly depth: number
  readonly phase: Phase | 'idle' | 'suspended'
  /** Nobody waits for its run. */
  readonly isInBackground: boolean
  readonly turns: number
  readonly toolUses: number
  readonly totalUsage: Usage
  /** What it did last, in words: a tool and its subject. */
  readonly lastActivity: string | undefined
  /** The number of the run that is on, or was last, from 1; 0 before the first. What follows is about that run. */
  readonly run: number
  /** `waiting`: for agents of its own. `suspended`: its process let go of it, and a resume goes on. */
  readonly status: 'running' | 'waiting' | 'suspended' | EndStatus
  /** The model's id of the call that started the agent. Undefined for the root. */
  readonly toolUseId: string | undefined
  /** Milliseconds since the epoch. */
  readonly startedAt: number | undefined
  readonly endedAt: number | undefined
  /** Why it failed or was killed, in at most 400 bytes. */
  readonly why: string | undefined
  /** Input of its last request and all that it wrote, in tokens. */
  readonly tokenCount: number
  /** What it did last, in words, oldest first; five at most. */
  readonly recentActivities: readonly string[]
  /** What it is at, in one line of its own model, with `features.progressSummaries`; at most 200 characters. */
  readonly summary: string | undefined
  /** Messages of others that it has not read. */
  readonly pendingMessages: number
  /** Where its progress and report are written for others; undefined while somebody waits for it. */
  readonly outputFile: string | undefined
  /** Its end was told in a notice. */
  readonly notified: boolean
  /** Its end was the result of a call: of the one that started it, or of `TaskOutput`. */
  readonly retrieved: boolean
  /** The worktree that it works in, or that its end has kept. */
  readonly worktree: WorktreeView | undefined
}

/** A worktree of an agent. */
export interface WorktreeView {
  /** Absolute. */
  readonly path: string
  /** Undefined where a hook has made the folder. */
  readonly branch: string | undefined
  /** `in-use`: nothing is decided yet. */
  readonly fate: 'in-use' | 'kept'
}

export interface RunOptions {
  /**
   * The run ends with the model's last word, although agents in the background run on; each end then starts the next run
   * of the root. Default: it waits for them, so that nothing is left when it is done.
   */
  readonly leavesChildren?: boolean
  /** Continue this session; a UUID that does not exist yet starts one under that id. */
  readonly sessionId?: string
  /** Model replies this run may take. */
  readonly maxTurns?: number
  /** Aborting kills the run. */
  readonly signal?: AbortSignal
}

/** What `spawn` takes: the input of the `Agent` tool, from a host. */
export interface SpawnInput {
  readonly description: string
  readonly prompt: string
  readonly subagent_type?: string
  readonly model?: 'sonnet' | 'opus' | 'haiku'
}

export interface BranchOptions {
  /** Position of the log that is the last one shared. Default: its end. A reply counts with its last line. */
  readonly at?: number
  /** What the branch is asked first. Default: to go on from there. */
  readonly prompt?: PromptContent
  /** Default: the model of the base. */
  readonly modelId?: string
  /** Model replies the first run may take. */
  readonly maxTurns?: number
  /** Aborting kills the first run. */
  readonly signal?: AbortSignal
}

export interface ResumeOptions {
  /** Take over the lock of another machine's engine. */
  readonly takeOver?: boolean
  /** Go on although the log has a gap; recorded as an event. */
  readonly acceptDamage?: boolean
}

export interface Engine extends AsyncDisposable {
  /** Starts a session, or the next run of a session whose root is idle. Rejects the result with a clear error otherwise. */
  run(prompt: PromptContent, options?: RunOptions): Run
  /** Starts an agent of any type for a host that has its own loop: the root of a session of its own. */
  spawn(input: SpawnInput, options?: RunOptions): Run
  /**
   * Brings a session back from its logs: repairs tails, ends surviving processes, re-attaches children, and lets
   * every unfinished run go on. Resolves with the root's run, or undefined when nothing was in flight.
   */
  resume(sessionId: string, options?: ResumeOptions): Promise<Run | undefined>
  /**
   * Starts a session that goes on from a position of another log: of a session of this project by its id, or of any
   * log by its path, transcripts of Claude Code included. What is before it is shared, not copied; the base is never
   * written. Rejects the result with `bad-position` or `missing-base` when there is nothing to go on from.
   */
  branch(source: string, options?: BranchOptions): Run
  /** Ends an agent's run and those of its descendants. Resolves when it has ended; at once when it already had. */
  kill(agentId: string, reason?: string): Promise<void>
  /**
   * Ends all runs of all open sessions, those in the background and those that are about to start included. Nobody is
   * woken by the ends: they are told with the next prompt. Resolves when nothing runs.
   */
  killAll(reason?: string): Promise<void>
  /**
   * Ends the run of a session's root and the agents that it waits for; its agents in the background go on. Resolves
   * when it has ended.
   */
  interrupt(sessionId: string, reason?: string): Promise<void>
  /**
   * Changes the permission mode of an open session's root, between runs or in the middle of one. It holds for every call
   * that is decided from then on, of the root and of each agent below it, which the root's mode bounds: narrowing it
   * narrows them at once. Rejects with `no-such-session` where no session of that id is open. `by`: who says so, for the
   * log. Default `host`.
   */
  setMode(sessionId: string, mode: PermissionMode, by?: string): Promise<void>
  /**
   * Moves a running child to the background: its parent's call returns at once, nothing of its turn is lost, and the
   * parent is told of its end. False when it is the root, has ended, or is there already.
   */
  background(agentId: string): Promise<boolean>
  /**
   * Moves the commands that an agent waits for, of any agent, the root included, to its background shells: nothing of
   * their processes is touched, each `Bash` call returns at once with what its command has written so far, and the agent
   * reads the rest with `BashOutput`. Their time limits count no more; they are ended with the agent's run. Resolves with
   * the ids that they go on as, those of nothing when nothing could be moved.
   */
  backgroundCalls(agentId: string): Promise<readonly string[]>
  /** Calls that wait for an answer, oldest first. */
  readonly approvals: readonly ApprovalRequest[]
  /**
   * Answers one of them, once and for all. Throws an `EngineError` (`no-such-approval`) when nobody waits for it.
   * `by`: who decided, for the log. Default `host`.
   */
  answer(approvalId: string, answer: ApprovalAnswer, by?: string): void
  /** Questions that wait for an answer, oldest first. */
  readonly questions: readonly QuestionRequest[]
  /**
   * Answers one of them, once and for all. Throws an `EngineError`: `no-such-question` when nobody waits for it,
   * `bad-answer` when it is no answer to that question. `by`: who answered, for the log. Default `host`.
   */
  answerQuestion(questionId: string, answer: QuestionAnswer, by?: string): void
  /** Live agents of all open sessions. */
  readonly agents: readonly AgentView[]
  /**
   * The same and, for `limits.taskRetentionMs` after their ends were told, children that have ended: now, and each time
   * something of it changes. One list for all changes of one moment; shared by all who subscribe.
   */
  readonly tasks$: Observable<readonly AgentView[]>
  readonly events$: Observable<EngineEvent>
  /** Suspends every run (they can be resumed), waits until nothing of them is left, lets go of all logs. */
  close(): Promise<void>
}
