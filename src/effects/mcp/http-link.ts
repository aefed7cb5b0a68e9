/**
 * A link to a server behind an address: streamable HTTP, or the older HTTP with server-sent events.
 *
 * What the SDK's transports leave open is closed here: a call whose stream ended without its answer fails at
 * once, a lost event stream ends the link, answers are bounded, and the server is told when we leave.
 */
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js'
import type { McpServerConfig } from '../../definitions/mcp-server-config.ts'
import { sleep } from '../clock.ts'
import { createBoundedFetch } from './bounded-fetch.ts'
import type { LinkRequest, ServerLink } from './server-link.ts'

type HttpConfig = Extract<McpServerConfig, { readonly type: 'http' | 'sse' }>

/** Milliseconds for the server to hear that its session is over. */
const GOODBYE_MS = 1000

/** A link to an address. Nothing is sent before its transport is started. */
export function createHttpLink(request: LinkRequest, config: HttpConfig): ServerLink {
  let loss: string | undefined
  let ending: Promise<void> | undefined
  const options = {
    requestInit: { headers: config.headers },
    fetch: createBoundedFetch({
      maxBytes: request.maxMessageBytes,
      onStreamEnded(id) {
        // The answer may be on its way through the SDK's parser; one that is answered is no longer waited for.
        setImmediate(() => {
          const error = { code: ErrorCode.ConnectionClosed, message: 'its stream ended without an answer' }
          transport.onmessage?.({ jsonrpc: '2.0', id, error })
        })
      },
    }),
  }
  const http =
    config.type === 'http' ? new StreamableHTTPClientTransport(new URL(config.url), options) : undefined
  const transport: Transport = http ?? new SSEClientTransport(new URL(config.url), options)

  // A start that fails says so itself; only what is lost later has to be noticed.
  let isOpen = false
  const start = transport.start.bind(transport)
  transport.start = async () => {
    await start()
    isOpen = true
  }
  // Set before the client sets its own, which calls this one first.
  transport.onerror = (error) => {
    if (!isOpen || ending !== undefined || !isFinal(error, config.type)) return
    loss = 'its event stream was lost'
    void link.end()
  }

  const endLink = async (): Promise<void> => {
    if (http?.sessionId !== undefined && loss === undefined) {
      await Promise.race([http.terminateSession(), sleep(request.clock, GOODBYE_MS)]).catch(() => {})
    }
    await transport.close().catch(() => {})
  }

  const link: ServerLink = {
    transport,
    reason: () => loss,
    end() {
      ending ??= endLink()
      return ending
    },
  }
  return link
}

/** Whether nothing more will come. Of streamable HTTP only the SDK's own words tell that it has given up. */
function isFinal(error: Error, type: HttpConfig['type']): boolean {
  // An `EventSource` connects again by itself, to a new session that knows nothing of our calls.
  if (type === 'sse') return 'event' in error
  return error.message.startsWith('Maximum reconnection attempts')
}
