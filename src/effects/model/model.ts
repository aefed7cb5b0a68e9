/**
 * What a model is to the engine: one function from a request to a stream of deltas that ends in a message.
 */
import type { Observable } from 'rxjs'
import type { ContentBlock, Reply, RequestMessage } from '../../machines/agent/messages.ts'

export type { RequestMessage }

/** A tool as the model sees it: Anthropic's format, JSON Schema input. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly input_schema: Readonly<Record<string, unknown>>
}

/** Who asks, for usage and telemetry: `main`, `agent:<source>:<type>`, `fork`, `summary`, `classifier`, `compact`. */
export type RequestSource = string

/**
 * A whole request. Well formed by construction (law 5): `messages` are made by the normaliser alone, or are one question
 * to the classifier.
 */
export interface ModelRequest {
  readonly model: string
  /** Rendered system prompt. */
  readonly system: string
  readonly tools: readonly ToolDefinition[]
  readonly messages: readonly RequestMessage[]
  readonly maxTokens: number
  /** How hard it thinks: a level, or tokens for thinking. Absent: as the model does by itself. */
  readonly effort?: 'low' | 'medium' | 'high' | number
  /** The tool that the reply must call, once. Absent: it may call any or none. */
  readonly toolChoice?: { readonly name: string }
  readonly source: RequestSource
}

/**
 * What comes out of a stream. `message` comes once and is last. After `restarted` everything before it is void:
 * the attempt broke and another, number `attempt` (the first is 1), begins after `delayMs` at the earliest.
 */
export type ModelDelta =
  | { readonly type: 'text'; readonly index: number; readonly text: string }
  | { readonly type: 'thinking'; readonly index: number; readonly text: string }
  | { readonly type: 'block_started'; readonly index: number; readonly block: ContentBlock }
  | { readonly type: 'input_json'; readonly index: number; readonly json: string }
  /** A server event that carries no content (`message_start`, `ping`, …): proof of life, nothing more. */
  | { readonly type: 'heartbeat' }
  | {
      readonly type: 'restarted'
      readonly attempt: number
      readonly delayMs: number
      readonly reason: string
    }
  | { readonly type: 'message'; readonly reply: Reply; readonly requestId?: string | undefined }

/**
 * A model.
 *
 * `stream` is cold: nothing happens before it is subscribed. It completes right after the `message` delta, or
 * errors with a {@link ModelError}. It honours `signal` and unsubscription alike by ending the request. A model
 * makes one attempt; retrying is a wrapper's work.
 */
export interface Model {
  /** Requests to models of one provider pass one gate, so that agents do not retry in lockstep. */
  readonly provider: string
  stream(request: ModelRequest, signal: AbortSignal): Observable<ModelDelta>
}

/** Why a request did not end in a message. Each is explained in `docs/errors.md`. */
export type ModelErrorCode =
  | 'connection'
  /** The request does not fit into the model's context window. */
  | 'context-exceeded'
  | 'first-byte-timeout'
  | 'gap-timeout'
  /** The model threw something that is no ModelError. */
  | 'internal'
  | 'invalid-request'
  | 'overloaded'
  /** Offline model only: a bug in its planner. */
  | 'planner'
  | 'rate-limited'
  /** Scripted and manual models only. */
  | 'script'
  | 'server'
  | 'stream-cut'
  | 'unauthorized'

/** A request that did not end in a message. */
export class ModelError extends Error {
  override readonly name = 'ModelError'
  readonly code: ModelErrorCode
  readonly retryable: boolean
  /** HTTP status, where there was an answer. */
  readonly status: number | undefined
  /** What the server asked for in `retry-after`, in milliseconds. */
  readonly retryAfterMs: number | undefined
  /** How many attempts were made before this was given up. */
  readonly attempts: number

  constructor(
    code: ModelErrorCode,
    message: string,
    options: {
      readonly retryable: boolean
      readonly status?: number | undefined
      readonly retryAfterMs?: number | undefined
      readonly attempts?: number | undefined
      readonly cause?: unknown
    },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryable = options.retryable
    this.status = options.status
    this.retryAfterMs = options.retryAfterMs
    this.attempts = options.attempts ?? 1
  }

  static is(value: unknown): value is ModelError {
    return value instanceof Error && value.name === 'ModelError'
  }

  /** `value` itself when it is a ModelError, else an `internal` one that wraps it and is not retried. */
  static from(value: unknown): ModelError {
    if (ModelError.is(value)) return value
    const message = value instanceof Error ? `${value.name}: ${value.message}` : String(value)
    return new ModelError('internal', `the model failed with ${message}`, { retryable: false, cause: value })
  }
}
