/** What went wrong with a request to the Messages API, as a {@link ModelError}. */
import type { ModelErrorCode } from './model.ts'
import { ModelError } from './model.ts'

/** The little that is needed of a `Headers` object. */
interface HeadersLike {
  get(name: string): string | null
}

/** An answer that is an error: status, `error` object of its body, headers. */
interface ErrorAnswer {
  readonly status?: number | undefined
  /** `error.type` of the body, such as `overloaded_error`. */
  readonly type?: string | undefined
  readonly message: string
  readonly headers?: HeadersLike | undefined
}

const LONGEST_RETRY_AFTER_MS = 60 * 60 * 1_000

/** Code and whether another attempt may help, by the type that the API gives its errors. */
const BY_TYPE: Readonly<Record<string, { readonly code: ModelErrorCode; readonly retryable: boolean }>> = {
  overloaded_error: { code: 'overloaded', retryable: true },
  rate_limit_error: { code: 'rate-limited', retryable: true },
  api_error: { code: 'server', retryable: true },
  timeout_error: { code: 'server', retryable: true },
  authentication_error: { code: 'unauthorized', retryable: false },
  permission_error: { code: 'unauthorized', retryable: false },
  billing_error: { code: 'invalid-request', retryable: false },
  invalid_request_error: { code: 'invalid-request', retryable: false },
  not_found_error: { code: 'invalid-request', retryable: false },
  request_too_large: { code: 'context-exceeded', retryable: false },
}

/** The error for an answer with an error status. `where` names the server; `now` is needed for HTTP dates. */
export function errorFromAnswer(
  answer: ErrorAnswer & { status: number },
  where: string,
  now: number,
): ModelError {
  const { status, type, headers } = answer
  const advice = headers?.get('x-should-retry')
  const code = status >= 500 && type === 'overloaded_error' ? 'overloaded' : codeOf(answer)
  const kind = type === undefined ? `${status}` : `${status} ${type}`
  const hint = code === 'unauthorized' ? '. Check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN' : ''
  return new ModelError(code, `${where} answered ${kind}: ${answer.message}${hint}`, {
    retryable: advice === 'true' || (advice !== 'false' && isRetryableStatus(status)),
    status,
    retryAfterMs: headers === undefined ? undefined : retryAfterMs(headers, now),
  })
}

/** The error for an `error` event in the middle of a stream. A type that is not known is worth another attempt. */
export function errorFromEvent(event: Readonly<Record<string, unknown>>): ModelError {
  const { type, message } = errorOfBody(event)
  // Only its own entries: a server may name anything, `constructor` too.
  const own = type !== undefined && Object.hasOwn(BY_TYPE, type) ? BY_TYPE[type] : undefined
  const known = own ?? { code: 'server', retryable: true }
  return new ModelError(
    known.code,
    `the server ended the stream with ${type ?? 'an error'}: ${message ?? 'no message'}`,
    { retryable: known.retryable },
  )
}

/**
 * The error for whatever was thrown while a request was sent or its answer read. `answered` tells whether the
 * stream had begun: what breaks it then is a cut.
 */
export function errorFromThrown(thrown: unknown, where: string, now: number, answered: boolean): ModelError {
  if (ModelError.is(thrown)) return thrown
  const answer = answerOf(thrown)
  if (answer !== undefined) return errorFromAnswer(answer, where, now)
  const reason = rootMessage(thrown)
  if (answered) {
    return new ModelError('stream-cut', `the stream from ${where} broke: ${reason}`, {
      retryable: true,
      cause: thrown,
    })
  }
  if (isConnectionError(thrown)) {
    return new ModelError('connection', `cannot reach ${where}: ${reason}`, {
      retryable: true,
      cause: thrown,
    })
  }
  return new ModelError('invalid-request', `the request to ${where} could not be made: ${reason}`, {
    retryable: false,
    cause: thrown,
  })
}

/**
 * What the server asks for in `retry-after-ms` or `retry-after` (seconds, or an HTTP date), in milliseconds, at
 * most one hour: a server that asks for more is asked again after that. Undefined when it asks for nothing.
 */
export function retryAfterMs(headers: HeadersLike, now: number): number | undefined {
  const milliseconds = nonNegative(headers.get('retry-after-ms'))
  if (milliseconds !== undefined) return Math.min(milliseconds, LONGEST_RETRY_AFTER_MS)
  const header = headers.get('retry-after')
  const seconds = nonNegative(header)
  if (seconds !== undefined) return Math.min(seconds * 1_000, LONGEST_RETRY_AFTER_MS)
  const date = header === null ? Number.NaN : Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.min(Math.max(date - now, 0), LONGEST_RETRY_AFTER_MS)
}

function nonNegative(header: string | null): number | undefined {
  if (header === null || !/^\s*\d+(\.\d+)?\s*$/.test(header)) return undefined
  return Number(header)
}

const isRetryableStatus = (status: number): boolean =>
  status === 408 || status === 409 || status === 429 || status >= 500

/** In which words servers say that a request is too long for its model. */
const TOO_LONG =
  /prompt is too long|too many (?:input )?tokens|(?:exceed\w*|larger than|longer than)\b.{0,60}\b(?:context|token limit)|context[ _](?:length|window)\b.{0,60}\bexceed/i

function codeOf({ status, message }: ErrorAnswer & { status: number }): ModelErrorCode {
  if (status === 413 || (status === 400 && TOO_LONG.test(message))) return 'context-exceeded'
  return codeOfStatus(status)
}

function codeOfStatus(status: number): ModelErrorCode {
  if (status === 401 || status === 403) return 'unauthorized'
  if (status === 429) return 'rate-limited'
  if (status === 529) return 'overloaded'
  return status >= 500 || status === 408 || status === 409 ? 'server' : 'invalid-request'
}

/** The answer inside an error of the SDK, recognised by its shape because the SDK is loaded only when used. */
function answerOf(thrown: unknown): (ErrorAnswer & { status: number }) | undefined {
  if (!(thrown instanceof Error) || !('status' in thrown) || typeof thrown.status !== 'number')
    return undefined
  const headers = 'headers' in thrown && isHeaders(thrown.headers) ? thrown.headers : undefined
  const { type, message } = 'error' in thrown ? errorOfBody(thrown.error) : {}
  return { status: thrown.status, type, headers, message: message ?? withoutStatus(thrown) }
}

/** `{ type: 'error', error: { type, message } }`, or as much of it as there is. */
function errorOfBody(body: unknown): { readonly type?: string; readonly message?: string } {
  if (typeof body === 'string') return { message: body }
  const error: unknown = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined
  if (typeof error === 'string') return { message: error }
  if (typeof error !== 'object' || error === null) return {}
  return {
    ...('type' in error && typeof error.type === 'string' ? { type: error.type } : {}),
    ...('message' in error && typeof error.message === 'string' ? { message: error.message } : {}),
  }
}

/** The SDK puts the status in front of the text; we name it ourselves. */
const withoutStatus = (error: Error & { status: unknown }): string => {
  const text = error.message.startsWith(`${error.status} `)
    ? error.message.slice(`${error.status} `.length)
    : error.message
  return text.slice(0, 500)
}

const isHeaders = (value: unknown): value is HeadersLike =>
  typeof value === 'object' && value !== null && 'get' in value && typeof value.get === 'function'

/** The SDK wraps what `fetch` throws; a bare `TypeError: fetch failed` is one, too. */
function isConnectionError(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  return thrown.name.startsWith('APIConnection') || thrown.message === 'fetch failed'
}

/** The message of the innermost cause, which is where Node says what really happened. */
function rootMessage(thrown: unknown): string {
  let error = thrown
  for (let depth = 0; depth < 5 && error instanceof Error && error.cause instanceof Error; depth++) {
    error = error.cause
  }
  if (!(error instanceof Error)) return String(error)
  // An AggregateError (every address of a host refused) has no message of its own.
  if (error.message === '' && 'code' in error) return String(error.code)
  return error.message
}
