/** A model that says what a script tells it to: for tests, demos and benchmarks. */
import { Observable, type Subscriber } from 'rxjs'
import { messageOf } from '../../definitions/message-of.ts'
import type { Model, ModelDelta, ModelRequest } from './model.ts'
import { ModelError } from './model.ts'
import { allowForced, buildReply, emitReply, type ScriptedReply } from './scripted-reply.ts'

/** What a script function knows of the request besides the request itself. */
export interface ScriptedRequest {
  /** How many requests this model has had before, retries included. */
  readonly index: number
  readonly signal: AbortSignal
}

/** A function from a request to its reply, or replies in the order in which they are used. */
export type Script =
  | ((request: ModelRequest, call: ScriptedRequest) => ScriptedReply | Promise<ScriptedReply>)
  | readonly ScriptedReply[]

export interface ScriptedModelOptions {
  /** Default `scripted`. */
  readonly provider?: string
  /**
   * What is said to a request that must call a tool (the classifier's). Default: a function is asked as for any other;
   * a list goes on as if it had not been asked, and the verdict is `allow`.
   */
  readonly forced?: (request: ModelRequest, call: ScriptedRequest) => ScriptedReply | Promise<ScriptedReply>
}

/**
 * A model that follows `script`.
 *
 * Where the script answers at once, so does the model: everything is emitted while it is subscribed, without a
 * timer or a promise. An Error in the script fails the request: a {@link ModelError} as it is, any other as a
 * `script` error that is not retried. A list that is used up gives such an error, too.
 */
export function createScriptedModel(script: Script, options: ScriptedModelOptions = {}): Model {
  let requests = 0
  let listed = 0
  const answer =
    typeof script === 'function'
      ? script
      : (request: ModelRequest) => script[listed++] ?? usedUp(script.length, request)
  const forced = options.forced ?? (typeof script === 'function' ? answer : allowForced)
  return {
    provider: options.provider ?? 'scripted',
    stream: (request, signal) =>
      new Observable((subscriber) => {
        if (signal.aborted) return subscriber.error(signal.reason)
        const index = requests++
        let said: ScriptedReply | Promise<ScriptedReply>
        try {
          said = (request.toolChoice === undefined ? answer : forced)(request, { index, signal })
        } catch (error) {
          return fail(subscriber, error)
        }
        if (!(said instanceof Promise)) return respond(subscriber, said, request)
        const onAbort = (): void => subscriber.error(signal.reason)
        signal.addEventListener('abort', onAbort, { once: true })
        said.then(
          (reply) => respond(subscriber, reply, request),
          (error: unknown) => fail(subscriber, error),
        )
        return () => signal.removeEventListener('abort', onAbort)
      }),
  }
}

function respond(subscriber: Subscriber<ModelDelta>, said: ScriptedReply, request: ModelRequest): void {
  if (said instanceof Error) fail(subscriber, said)
  else emitReply(subscriber, buildReply(said, request), chunksOf(said))
}

/** Into how many deltas a scripted reply wants its text split. */
export function chunksOf(said: ScriptedReply): number | undefined {
  return typeof said === 'object' && 'chunks' in said && typeof said.chunks === 'number'
    ? said.chunks
    : undefined
}

function fail(subscriber: Subscriber<ModelDelta>, error: unknown): void {
  subscriber.error(scriptError(error))
}

/** A {@link ModelError} as it is, anything else as a `script` error. */
export function scriptError(error: unknown): ModelError {
  if (ModelError.is(error)) return error
  const message = messageOf(error)
  return new ModelError('script', message, { retryable: false, cause: error })
}

const usedUp = (length: number, request: ModelRequest): ModelError =>
  new ModelError(
    'script',
    `the script has ${length} replies and all are used; one more was asked for by ${request.source}`,
    { retryable: false },
  )
