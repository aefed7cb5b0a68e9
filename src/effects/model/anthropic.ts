/**
 * The Messages API as a {@link Model}, through the official SDK.
 *
 * One subscription is one HTTP request: the SDK's own retries are off and its timeout is out of the way, because
 * both are the work of {@link withRetries}. The SDK is loaded at the first request, not before.
 */
import { Console } from 'node:console'
import type { Anthropic } from '@anthropic-ai/sdk'
import { Observable, type Subscriber } from 'rxjs'
import { type Clock, systemClock } from '../clock.ts'
import { createReplyAccumulator } from './accumulate-reply.ts'
import { errorFromThrown } from './anthropic-errors.ts'
import { type RequestBodyParts, withCacheMarks, withoutCacheMarks } from './cache-marks.ts'
import type { Model, ModelDelta, ModelRequest } from './model.ts'
import { ModelError } from './model.ts'

export interface AnthropicModelOptions {
  /**
   * Sent as the SDK sends it, and to servers other than Anthropic's as `x-api-key`, too. Wins over a token.
   * Default: `ANTHROPIC_API_KEY`, unless `authToken` is given.
   */
  readonly apiKey?: string
  /** Sent as `authorization: Bearer`. Default: `ANTHROPIC_AUTH_TOKEN`. */
  readonly authToken?: string
  /** Default: `ANTHROPIC_BASE_URL`, else Anthropic's own. */
  readonly baseURL?: string
  /** Where the defaults are read from. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Sent with every request, over the SDK's own. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether requests carry prompt cache marks. Default true. */
  readonly cacheMarks?: boolean
  /** For proxies, and for tests that bring their own bytes. Default: the global one. */
  readonly fetch?: typeof fetch
  readonly clock?: Clock
}

const ANTHROPIC_URL = 'https://api.anthropic.com'
/** Sent to a server of the user's own choice when no key is set: it may need none, and the SDK insists on one. */
const PLACEHOLDER_KEY = 'no-key-set'
/** As long as a timer can be: the SDK may not give up before we do. */
const NEVER_MS = 2 ** 31 - 1
/** How long the end of a body is awaited after its last event, so that the connection can be used again. */
const DRAIN_MS = 1_000

/** A model that speaks to one server. */
interface Server {
  /** Its host, as errors name it. */
  readonly where: string
  readonly bodyOf: (request: ModelRequest) => RequestBodyParts
  readonly clock: Clock
  /** Loads the SDK and makes a client, once. */
  readonly connect: () => Promise<Connection>
}

interface Connection {
  readonly client: Anthropic
  /** The server-sent events of a body, whatever its chunk borders, with their data as text. */
  readonly eventsOf: (response: Response, abort: AbortController) => AsyncIterable<ServerSentEvent>
}

interface ServerSentEvent {
  readonly event: string | null
  readonly data: string
}

/** One request on its way. */
interface Conversation {
  readonly abort: AbortController
  /** The reply is whole: ending the subscription needs no abort any more. */
  whole: boolean
}

/**
 * A model behind the Messages API: Anthropic's, or any server that speaks it.
 *
 * Without a key, a token or a base URL every request errors with `unauthorized` and nothing is sent.
 */
export function createAnthropicModel(options: AnthropicModelOptions = {}): Model {
  const settings = settingsOf(options)
  const server: Server = {
    where: settings.host,
    bodyOf: options.cacheMarks === false ? withoutCacheMarks : withCacheMarks,
    clock: options.clock ?? systemClock,
    connect: once(() => connect(settings, options)),
  }
  return {
    provider: settings.baseURL === ANTHROPIC_URL ? 'anthropic' : `anthropic:${settings.host}`,
    stream: (request, signal) =>
      new Observable((subscriber) => {
        if (signal.aborted) return subscriber.error(signal.reason)
        if (settings.problem !== undefined) return subscriber.error(settings.problem)
        const conversation: Conversation = { abort: new AbortController(), whole: false }
        const onAbort = (): void => subscriber.error(signal.reason)
        signal.addEventListener('abort', onAbort, { once: true })
        void converse(server, request, subscriber, conversation)
        return () => {
          signal.removeEventListener('abort', onAbort)
          if (!conversation.whole) conversation.abort.abort()
        }
      }),
  }
}

/** Sends the request and feeds the subscriber until the reply is whole. Never rejects. */
async function converse(
  { where, bodyOf, clock, connect }: Server,
  request: ModelRequest,
  subscriber: Subscriber<ModelDelta>,
  conversation: Conversation,
): Promise<void> {
  const { abort } = conversation
  let answered = false
  try {
    const { client, eventsOf } = await connect()
    if (subscriber.closed) return
    const params = {
      model: request.model,
      max_tokens: request.maxTokens,
      ...effortOf(request),
      ...toolChoiceOf(request),
      ...bodyOf(request),
      stream: true,
    }
    const response = await client.messages
      // What the API takes, but looser than the SDK's types: unknown blocks and fields pass through as they are.
      .create(params as unknown as Anthropic.MessageCreateParamsStreaming, { signal: abort.signal })
      .asResponse()
    answered = true
    await refuseOtherContent(response, where)
    const reply = createReplyAccumulator()
    const events = eventsOf(response, abort)[Symbol.asyncIterator]()
    while (!reply.stopped) {
      const next = await events.next()
      if (next.done === true) break
      subscriber.next(reply.accept(parsedEvent(next.value)))
    }
    const requestId = response.headers.get('request-id') ?? undefined
    const message: ModelDelta = { type: 'message', reply: reply.finish(), requestId }
    conversation.whole = true
    subscriber.next(message)
    subscriber.complete()
    await drain(events, abort, clock)
  } catch (error) {
    if (!subscriber.closed) subscriber.error(errorFromThrown(error, where, clock.now(), answered))
  }
}

/** Reads the end of a body, so that its connection can be used again; cuts it when the end does not come. */
async function drain(events: AsyncIterator<unknown>, abort: AbortController, clock: Clock): Promise<void> {
  const cancel = clock.setTimer(DRAIN_MS, () => abort.abort())
  try {
    while ((await events.next()).done !== true);
  } catch {
    // The reply is whole; how its connection ends does not matter.
  } finally {
    cancel()
  }
}

/** An event with its data read. Servers differ in whether the type stands beside the data or in it. */
function parsedEvent({ event, data }: ServerSentEvent): Readonly<Record<string, unknown>> {
  if (event === 'ping' || data === '' || data === '[DONE]') return { type: 'ping' }
  let parsed: unknown
  try {
    parsed = JSON.parse(data)
  } catch {
    parsed = undefined
  }
  if (typeof parsed === 'object' && parsed !== null) return { type: event, ...parsed }
  if (event === 'error') return { type: 'error', error: data }
  throw new ModelError('stream-cut', `the stream broke: an event is no JSON object: ${data.slice(0, 200)}`, {
    retryable: true,
  })
}

/** A page or a whole message where a stream was asked for comes from something that is no such server. */
async function refuseOtherContent(response: Response, where: string): Promise<void> {
  const type = response.headers.get('content-type') ?? ''
  if (!/^(text\/html|text\/plain|application\/json)/i.test(type)) return
  const start = (await response.text()).trim().slice(0, 200)
  throw new ModelError(
    'invalid-request',
    `${where} answered with ${type} where an event stream was expected. Is the base URL that of a Messages API? It begins: ${start}`,
    { retryable: false, status: response.status },
  )
}

interface Settings {
  readonly baseURL: string
  readonly host: string
  readonly apiKey: string | null
  readonly authToken: string | null
  /** Why no request can be made. */
  readonly problem: ModelError | undefined
}

function settingsOf(options: AnthropicModelOptions): Settings {
  const env = options.env ?? process.env
  const ownURL = given(options.baseURL) ?? given(env['ANTHROPIC_BASE_URL'])
  const baseURL = ownURL ?? ANTHROPIC_URL
  const fromOptions = given(options.apiKey) ?? given(options.authToken)
  const key =
    given(options.apiKey) ?? (fromOptions === undefined ? given(env['ANTHROPIC_API_KEY']) : undefined)
  const token = given(options.authToken) ?? given(env['ANTHROPIC_AUTH_TOKEN'])
  const authToken = key === undefined ? (token ?? null) : null
  const apiKey = key ?? (authToken === null && ownURL !== undefined ? PLACEHOLDER_KEY : null)
  if (!URL.canParse(baseURL)) {
    return { baseURL, host: baseURL, apiKey, authToken, problem: badURL(baseURL) }
  }
  const problem = apiKey === null && authToken === null ? noCredentials() : undefined
  return { baseURL, host: new URL(baseURL).host, apiKey, authToken, problem }
}

/** A setting that is there and not blank. A line break at the end of a key file would make an invalid header. */
const given = (value: string | undefined): string | undefined => {
  const trimmed = value?.trim()
  return trimmed === '' ? undefined : trimmed
}

const badURL = (baseURL: string): ModelError =>
  new ModelError(
    'invalid-request',
    `"${baseURL}" is no URL. Set ANTHROPIC_BASE_URL, or the option baseURL, to something like ${ANTHROPIC_URL}`,
    { retryable: false },
  )

const noCredentials = (): ModelError =>
  new ModelError(
    'unauthorized',
    'no credentials for the Messages API. Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or ANTHROPIC_BASE_URL to a server that needs none',
    { retryable: false },
  )

async function connect(
  { apiKey, authToken, baseURL }: Settings,
  { headers, fetch }: AnthropicModelOptions,
): Promise<Connection> {
  const [sdk, { Stream }] = await Promise.all([
    import('@anthropic-ai/sdk'),
    import('@anthropic-ai/sdk/core/streaming'),
  ])
  const client = new sdk.Anthropic({
    apiKey,
    authToken,
    baseURL,
    maxRetries: 0,
    timeout: NEVER_MS,
    // Spans of requests are the engine's, with its own parents; the SDK's would be a second set.
    openTelemetry: false,
    // Its default writes debug lines to standard output, where they would mix with ours.
    logger: new Console(process.stderr),
    defaultHeaders: {
      // The SDK sends keys as bearer tokens, which servers written for its older versions do not look at.
      ...(apiKey !== null && baseURL !== ANTHROPIC_URL && { 'x-api-key': apiKey }),
      ...headers,
    },
    ...(fetch === undefined ? {} : { fetch }),
  })
  return { client, eventsOf: (response, abort) => Stream.rawEvents(response, abort) }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const toolChoiceOf = ({ toolChoice }: ModelRequest): object =>
  toolChoice === undefined
    ? {}
    : { tool_choice: { type: 'tool', name: toolChoice.name, disable_parallel_tool_use: true } }

/** The least budget for thinking that the API takes. */
const LEAST_THINKING = 1_024

/** A level is the API's own; a number is a budget for thinking, within what the reply may have at all. */
function effortOf({ effort, maxTokens, toolChoice }: ModelRequest): object {
  // The API takes no thinking beside a tool that must be called.
  if (effort === undefined || toolChoice !== undefined) return {}
  if (typeof effort === 'string') return { output_config: { effort } }
  const budget = Math.max(LEAST_THINKING, Math.min(effort, maxTokens - 1))
  return budget < maxTokens ? { thinking: { type: 'enabled', budget_tokens: budget } } : {}
}
