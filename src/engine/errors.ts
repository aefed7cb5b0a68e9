/**
 * Errors of the engine: few classes, each a way to react, each with a `code` that `docs/errors.md` explains.
 */
import type { ContextDiagnosticCode } from '../definitions/context/context-diagnostic.ts'
import type { DiagnosticCode } from '../definitions/diagnostic.ts'
import type { HookFaultCode, HookProblemCode } from '../definitions/hooks/hook-outcome.ts'
import type { HookDiagnosticCode } from '../definitions/hooks/scoped-hook.ts'
import { messageOf } from '../definitions/message-of.ts'
import type { SpawnRefusal } from '../definitions/routing.ts'
import type { McpDiagnosticCode } from '../effects/mcp/diagnostic.ts'
import { SandboxError, type SandboxErrorCode } from '../effects/sandbox/sandbox-error.ts'
import type { BaseErrorCode } from '../journal/replay/base.ts'
import type { StorageErrorCode } from '../journal/storage.ts'
import type { Fault } from '../machines/agent/events.ts'

/** Why the engine did not do what it was asked to. */
export type EngineErrorCode =
  | 'actor-failed'
  | 'bad-agent-id'
  | 'bad-answer'
  | 'bad-cwd'
  | 'bad-option'
  | 'bad-rule'
  | 'bad-session-id'
  | 'damaged-log'
  | 'engine-closed'
  | 'impossible-log'
  | 'newer-machine'
  | 'no-such-agent'
  | 'no-such-approval'
  | 'no-such-question'
  | 'no-such-session'
  | 'no-tools-left'
  | 'other-project'
  | 'run-in-flight'
  | 'snapshot-differs'
  | 'unfinished-run'
  | BaseErrorCode
  | SandboxErrorCode
  | SpawnRefusal['code']
  | `journal-${StorageErrorCode}`

/** What an engine says besides facts: what it could not honour, of definitions and options or in itself. */
export type EngineDiagnosticCode =
  | DiagnosticCode
  | ContextDiagnosticCode
  | McpDiagnosticCode
  | HookDiagnosticCode
  | HookFaultCode
  | HookProblemCode
  | 'hook-notice'
  | 'stop-blocks-reached'
  | 'price-unknown'
  | 'tool-notice'
  | 'worktree-incomplete'
  | 'worktree-made-again'
  | 'worktree-not-removed'
  | 'worktree-swept'
  | 'approval-failed'
  | 'background-lost'
  | 'blob-restored'
  | 'inspector-failed'
  | 'inspector-slow'
  | 'meta-not-written'
  | 'not-woken'
  | 'orphan-not-ended'
  | 'output-not-written'
  | 'prompt-differs'
  | 'question-failed'
  | 'review-not-recorded'
  | 'sandbox-weaker'
  | 'snapshot-not-written'
  | 'snapshot-rejected'
  | 'tool-left-behind'

/** A request that cannot be met as it is: the caller has to ask differently. */
export class EngineError extends Error {
  override readonly name: string = 'EngineError'
  readonly code: EngineErrorCode

  constructor(code: EngineErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }

  static is(value: unknown): value is EngineError {
    return value instanceof EngineError
  }
}

/** The log could not be written or read: the agent stopped where the log ends; nothing after it has happened. */
export class JournalError extends EngineError {
  override readonly name = 'JournalError'
}

/** The engine was closed: what was in flight is suspended and can be resumed. */
export class EngineClosedError extends EngineError {
  override readonly name = 'EngineClosedError'

  constructor(sessionId: string) {
    super('engine-closed', `the engine was closed; session ${sessionId} is suspended and can be resumed`)
  }
}

export { messageOf }

/** What the sandbox says, as an error of the engine. */
export const refusedBySandbox = (error: unknown): unknown =>
  SandboxError.is(error) ? new EngineError(error.code, error.message, error.cause) : error

/** The code of anything that was thrown, or the given one. */
export function codeOf(error: unknown, fallback: string): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : fallback
}

/** An unexpected throw as the data of an `agent.faulted`. */
export function toFault(error: unknown, where: string): Fault {
  return { code: codeOf(error, 'defect'), message: `${where}: ${messageOf(error)}`, retryable: false }
}
