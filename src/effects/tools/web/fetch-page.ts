/**
 * One page from the web, bounded.
 *
 * P1 Every address is judged before it is connected to, that of a redirect too, and the connection goes to the very
 *    machine that was judged: a name that resolves otherwise a moment later changes nothing.
 * P2 Bounded in time, in redirects and in bytes after decompression. What is over the bound is not read.
 * P3 Nothing of the person is sent: no cookies, no credentials, no referrer.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { ToolRefusal } from '../tool-refusal.ts'
import { type HostAddress, judgedAddresses, type ResolveHost, readAddress } from './web-address.ts'

/** What came back. */
export type Fetched =
  | {
      readonly kind: 'page'
      /** The address that it came from, after redirects. */
      readonly url: string
      readonly status: number
      readonly statusText: string
      /** As the server says it, in lower case; empty when it says nothing. */
      readonly contentType: string
      readonly bytes: Buffer
      /** There was more than the bound. */
      readonly isCut: boolean
    }
  /** It leads to another host, which nobody permitted yet. */
  | { readonly kind: 'redirect'; readonly url: string; readonly target: string }

export interface FetchRequest {
  readonly url: string
  readonly signal: AbortSignal
  readonly maxBytes: number
  readonly userAgent: string
  /** Hosts (`name` or `name:port`) that may be private and are fetched as they stand. */
  readonly privateHosts: readonly string[]
  readonly resolve: ResolveHost
  /** Whether a redirect to another host may be followed. */
  readonly mayFollow: (url: string) => boolean | Promise<boolean>
}

/** Redirects that are followed. */
export const MAX_REDIRECTS = 5

/** Fetches a page. Throws a {@link ToolRefusal} for what is not fetched or cannot be. */
export async function fetchPage(request: FetchRequest): Promise<Fetched> {
  let url = readAddress(request.url, request.privateHosts)
  for (let redirects = 0; ; redirects++) {
    const judging = judgedAddresses(url, request.privateHosts, request.resolve)
    const addresses = await untilAborted(judging, request.signal)
    const response = await connect(url, addresses, request)
    const target = redirectOf(response, url)
    if (target === undefined) return readPage(response, url, request)
    response.destroy()
    if (redirects === MAX_REDIRECTS) {
      throw new ToolRefusal(`${request.url} redirects more than ${MAX_REDIRECTS} times, last to ${target}.`)
    }
    const next = readAddress(target, request.privateHosts)
    if (next.host !== url.host && !(await request.mayFollow(next.href))) {
      return { kind: 'redirect', url: url.href, target: next.href }
    }
    url = next
  }
}

function connect(
  url: URL,
  addresses: readonly HostAddress[],
  { signal, userAgent }: FetchRequest,
): Promise<IncomingMessage> {
  const start = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const sent = start(url, {
      signal,
      // A connection of its own: none that another request opened to a name judged at another time.
      agent: false,
      lookup: answering(addresses),
      headers: {
        'user-agent': userAgent,
        accept: 'text/html,application/xhtml+xml,text/markdown;q=0.9,text/*;q=0.8,*/*;q=0.5',
        'accept-encoding': 'gzip, deflate, br',
      },
    })
    sent.once('response', resolve)
    // More than one may come; only the first is told.
    sent.on('error', (cause) => {
      reject(
        signal.aborted
          ? cause
          : new ToolRefusal(`${url.href} could not be fetched: ${reasonOf(cause)}`, { cause }),
      )
    })
    sent.end()
  })
}

/** A resolver that knows one answer (P1). */
function answering(addresses: readonly HostAddress[]): LookupFunction {
  return (_, options, callback) => {
    const [first] = addresses
    if (options.all === true) callback(null, [...addresses])
    else if (first !== undefined) callback(null, first.address, first.family)
  }
}

function redirectOf(
  { statusCode = 0, headers: { location } }: IncomingMessage,
  url: URL,
): string | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined) return undefined
  if (!URL.canParse(location, url.href)) {
    throw new ToolRefusal(`${url.href} redirects to "${location.slice(0, 200)}", which is no address.`)
  }
  return new URL(location, url).href
}

async function readPage(
  response: IncomingMessage,
  url: URL,
  { signal, maxBytes }: FetchRequest,
): Promise<Fetched> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of decoded(response)) {
      // Streams without an encoding give buffers.
      const bytes = chunk as Buffer
      chunks.push(bytes.subarray(0, maxBytes - size))
      size += bytes.length
      if (size > maxBytes) break
    }
  } catch (cause) {
    if (signal.aborted) throw cause
    throw new ToolRefusal(`${url.href} broke off: ${reasonOf(cause)}`, { cause })
  } finally {
    response.destroy()
  }
  return {
    kind: 'page',
    url: url.href,
    status: response.statusCode ?? 0,
    statusText: response.statusMessage ?? '',
    contentType: (response.headers['content-type'] ?? '').toLowerCase(),
    bytes: Buffer.concat(chunks),
    isCut: size > maxBytes,
  }
}

function decoded(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  const decoder =
    encoding === 'gzip' || encoding === 'x-gzip'
      ? createGunzip()
      : encoding === 'deflate'
        ? createInflate()
        : encoding === 'br'
          ? createBrotliDecompress()
          : undefined
  if (decoder === undefined) {
    if (encoding === 'identity' || encoding === '') return response
    throw new Error(`it is packed as ${encoding}, which was not asked for`)
  }
  response.on('error', (error) => decoder.destroy(error))
  return response.pipe(decoder)
}

/** Names are looked up in a way that no signal ends: it is left to itself. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** In words; what tries several addresses fails without a message of its own. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : error.name
  return error.message === '' ? code : error.message
}
