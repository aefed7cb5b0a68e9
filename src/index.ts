/**
 * Troupe: an event-sourced, crash-proof orchestration core for sub-agents.
 *
 * This file is the whole public surface.
 */

// ── engine ───────────────────────────────────────────────────────────────────────────────────────────────

export type {
  AgentView,
  ApprovalAnswer,
  ApprovalRequest,
  BranchOptions,
  Denial,
  Engine,
  EngineEvent,
  EngineOptions,
  Inspector,
  PermissionOptions,
  QuestionAnswer,
  QuestionOptions,
  QuestionRequest,
  ResumeOptions,
  ReviewOptions,
  Run,
  RunOptions,
  RunResult,
  SpawnInput,
  WorktreeView,
} from './engine/api.ts'
export { createEngine } from './engine/create-engine.ts'
export type { EngineDiagnosticCode, EngineErrorCode } from './engine/errors.ts'
export { EngineClosedError, EngineError, JournalError } from './engine/errors.ts'
export type { Rerun, RerunOptions } from './engine/rerun/rerun.ts'
export { rerun } from './engine/rerun/rerun.ts'

// ── definitions ──────────────────────────────────────────────────────────────────────────────────────────

export type { AgentDefinition, DefinitionSource, PromptContext } from './definitions/agent-definition.ts'
export { BUILT_IN_DEFINITIONS } from './definitions/built-in/index.ts'
export type { Features } from './definitions/features.ts'
export type { AgentRegistry, FileDiagnostic, FoundAgent } from './definitions/files/agent-file.ts'
export type { Limits } from './definitions/limits.ts'
export type { McpServerConfig } from './definitions/mcp-server-config.ts'
export type { PermissionMode } from './definitions/permission-mode.ts'
export type { SandboxOptions } from './definitions/sandbox/options.ts'

// ── models ───────────────────────────────────────────────────────────────────────────────────────────────

export { createAnthropicModel } from './effects/model/anthropic.ts'
export type {
  Model,
  ModelDelta,
  ModelErrorCode,
  ModelRequest,
  RequestMessage,
  RequestSource,
  ToolDefinition,
} from './effects/model/model.ts'
export { ModelError } from './effects/model/model.ts'
export { createOfflineModel } from './effects/model/offline/offline-model.ts'
export type { RetryPolicy } from './effects/model/retrying.ts'
export { createScriptedModel } from './effects/model/scripted.ts'

// ── what the person and the project bring along ──────────────────────────────────────────────────────────

export { openProject } from './effects/project/open-lazily.ts'
export type { ProjectOptions } from './effects/project/open-project.ts'
export type { Project } from './effects/project/project.ts'

// ── hooks ────────────────────────────────────────────────────────────────────────────────────────────────

export type { HookEvent } from './definitions/hook-declaration.ts'
export type { HookInput, HookInputOf } from './definitions/hooks/hook-input.ts'
export type { HookOutput } from './definitions/hooks/read-output.ts'
export type { AnyHostHook, HookReply, HostHook } from './effects/hooks/hook.ts'
export { hostHook } from './effects/hooks/hook.ts'

// ── tools and ports ──────────────────────────────────────────────────────────────────────────────────────

export type { CancelTimer, Clock } from './effects/clock.ts'
export type { Ids } from './effects/ids.ts'
export type {
  ProcessOutcome,
  ProcessRequest,
  ProcessRunner,
  RecordedProcess,
} from './effects/process/process-runner.ts'
export type { AskedQuestion, Question } from './effects/tools/ask-person.ts'
export type { Intent, ResumeRule, SeenFiles, Tool, ToolContext, ToolOutput } from './effects/tools/tool.ts'
export { ToolRefusal } from './effects/tools/tool-refusal.ts'
export { standardTools } from './effects/tools/tool-table.ts'
export { createFileStorage } from './journal/file-storage.ts'
export { SessionLockedError } from './journal/session-lock.ts'
export type {
  Append,
  Durability,
  FileStat,
  MaybePromise,
  Storage,
  StorageErrorCode,
} from './journal/storage.ts'
export { StorageError } from './journal/storage.ts'

// ── what happened ────────────────────────────────────────────────────────────────────────────────────────

// ── replay and time travel ───────────────────────────────────────────────────────────────────────────────
export type { CassetteOptions, CassetteReel, CassetteTurn } from './effects/model/cassette.ts'
export { createCassetteModel } from './effects/model/cassette.ts'
export type { CheckOptions, FoldedAgent, LogCheck, Violation } from './journal/check/check-log.ts'
export { checkLog } from './journal/check/check-log.ts'
export type { CheckedLog, NamedLog } from './journal/check/check-tree.ts'
export { checkTree } from './journal/check/check-tree.ts'
export type { EventEntry, LogEntry, Remark } from './journal/log-entry.ts'
export { readEntries } from './journal/read-entries.ts'
export type { BaseErrorCode } from './journal/replay/base.ts'
export { BaseError } from './journal/replay/base.ts'
export type { AgentDiff, Difference, DiffRow, LogDiff, LogPlace } from './journal/replay/diff.ts'
export { diffLogs } from './journal/replay/diff.ts'
export type { Replay, ReplayOptions } from './journal/replay/replay.ts'
export { replay } from './journal/replay/replay.ts'
export type { ReplayedAgent, ReplaySessionOptions } from './journal/replay/replay-session.ts'
export { replaySession } from './journal/replay/replay-session.ts'
export type { StepKind, StoryStep } from './journal/replay/steps.ts'
export type { Phase } from './machines/agent/accepts.ts'
export type {
  AgentEvent,
  AgentEventOf,
  AgentEventType,
  EndStatus,
  Fault,
  Origin,
  Outcome,
  Recorded,
  SpawnPlan,
} from './machines/agent/events.ts'
export type { AgentState } from './machines/agent/fold.ts'
export { FoldError, foldAgent, UNBORN } from './machines/agent/fold.ts'
export { agentMachine } from './machines/agent/machine.ts'
export type {
  ContentBlock,
  PromptContent,
  Reply,
  ResultContent,
  TextBlock,
  ToolResultBlock,
  ToolUseBlock,
  Usage,
} from './machines/agent/messages.ts'
export type { AgentId, BlobHash, CallId, SessionId } from './machines/ids.ts'
