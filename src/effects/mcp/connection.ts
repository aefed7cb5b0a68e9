/**
 * One server, over as many links as it takes: connected when it is first needed, and again when it was lost.
 *
 * Owns: the server's status, its tools, its link. Does not own: what a link is (see `stdio-link.ts`,
 * `http-link.ts`), and who may use the server.
 *
 *   C1  At most one link at a time: the next is made only when nothing is left of the one before.
 *   C2  `onStarting` has settled before a link is made: what is to be started can be on record first.
 *   C3  `connect` and `call` never hang: time limits run on the engine's clock, a lost link fails what waits on
 *       it, an abort cancels.
 *   C4  Whatever goes wrong is a status or an error output that names the server. Only an abort rejects.
 *   C5  `close` is final and resolves when nothing of the server is left.
 *   C6  A list of tools is never changed in place; one list holds until the server says that it changed.
 */
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ListRootsRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import type { McpServerConfig } from '../../definitions/mcp-server-config.ts'
import type { CancelTimer, Clock } from '../clock.ts'
import type { Tool, ToolOutput } from '../tools/tool.ts'
import { describeFailure, isLinkBroken, needsAuthorization } from './describe-failure.ts'
import type { McpDiagnostic } from './diagnostic.ts'
import { type ListedTool, listTools, NO_SDK_TIMEOUT, type TellOfTool } from './list-tools.ts'
import { type CallServer, mcpTools } from './mcp-tool.ts'
import { CallAnswer, outputOf } from './result-content.ts'
import type { LinkRequest, OpenLink, ServerIdentity, ServerLink } from './server-link.ts'

/** How a server stands, as of now. */
export type McpServerStatus =
  /** Not asked for yet, or on its way. */
  | { readonly state: 'pending' }
  /** Connected and its tools are listed; a server may have none. */
  | { readonly state: 'ready'; readonly tools: number }
  /** Could not be started, or was lost. The next use tries again. */
  | { readonly state: 'failed'; readonly reason: string; readonly needsAuthorization: boolean }
  /** For good. */
  | { readonly state: 'closed' }

/** What all servers share. */
export interface ConnectionSettings {
  readonly clock: Clock
  readonly env: Readonly<Record<string, string>>
  /** What this program calls itself. */
  readonly client: { readonly name: string; readonly version: string }
  /** Milliseconds between TERM and KILL. */
  readonly graceMs: number
  /** Milliseconds until a server must be connected and have listed its tools. */
  readonly connectTimeoutMs: number
  /** Milliseconds of a call without an answer or a sign of progress. */
  readonly callTimeoutMs: number
  /** Bytes of one message of a server. */
  readonly maxMessageBytes: number
  readonly openLink: OpenLink
  readonly onStarting?: ((server: ServerIdentity) => void | Promise<void>) | undefined
  readonly onStarted?: LinkRequest['onStarted']
  readonly onEnded?: ((server: ServerIdentity) => void) | undefined
  readonly onToolsChanged?: ((server: ServerIdentity) => void) | undefined
  readonly onDiagnostic?: ((diagnostic: McpDiagnostic) => void) | undefined
}

/** A server that can be used. */
export interface McpConnection {
  readonly identity: ServerIdentity
  status(): McpServerStatus
  /** As last listed, also while the server is lost: a call brings it back. */
  tools(): readonly Tool[]
  /** Resolves when the server is ready, or has failed. Never rejects. */
  connect(): Promise<void>
  close(): Promise<void>
}

interface Session {
  readonly link: ServerLink
  readonly client: Client
}

const CLOSED = 'it was closed'

/** A connection. Nothing is started yet. */
export function createConnection(
  identity: ServerIdentity,
  config: McpServerConfig,
  cwd: string,
  settings: ConnectionSettings,
): McpConnection {
  const { clock } = settings
  const { server } = identity
  const callTimeoutMs = config.timeout ?? settings.callTimeoutMs
  let status: McpServerStatus = { state: 'pending' }
  let tools: readonly Tool[] = []
  /** What `tools` was made of. */
  let listed: readonly ListedTool[] | undefined
  let session: Session | undefined
  let connecting: Promise<void> | undefined
  let closing: Promise<void> | undefined
  /** Cuts short what waits for the server to come up. */
  let giveUp: ((reason: Error) => void) | undefined
  /** The end of the link before (C1). */
  let ending: Promise<void> = Promise.resolve()
  const isClosed = (): boolean => closing !== undefined

  const tellOfTool: TellOfTool = (severity, code, message) =>
    settings.onDiagnostic?.({ severity, code, message: `MCP server ${server}: ${message}.`, server })

  const endLink = (link: ServerLink | undefined): Promise<void> => {
    ending = (link?.end() ?? Promise.resolve()).then(() => settings.onEnded?.(identity))
    return ending
  }

  const fail = (reason: string, error?: unknown): void => {
    if (isClosed()) return
    status = { state: 'failed', reason, needsAuthorization: needsAuthorization(error) }
    const message = `The MCP server ${server} is not available: ${reason}.`
    settings.onDiagnostic?.({ severity: 'error', code: 'mcp-server-failed', message, server })
  }

  /** An equal list is no other list: agents and caches hold on to it (C6). */
  const take = (list: readonly ListedTool[]): void => {
    const isSame = listed !== undefined && isDeepStrictEqual(list, listed)
    if (!isSame) tools = mcpTools(server, list, call, tellOfTool)
    listed = list
    status = { state: 'ready', tools: tools.length }
    if (!isSame) settings.onToolsChanged?.(identity)
  }

  /** Changes that come while a list is being read, or before the first is there, are one more reading. */
  const followChanges = (here: Session): { begin(): void } => {
    const { client } = here
    let isStale = false
    let isReading = false
    const readAgain = async (): Promise<void> => {
      if (session !== here || isReading) return
      isReading = true
      try {
        while (isStale) {
          isStale = false
          const list = await within(clock, settings.connectTimeoutMs, listTools(client, tellOfTool))
          if (session !== here) return
          take(list)
        }
      } catch (error) {
        if (session !== here) return
        const why = describeFailure(error)
        tellOfTool('error', 'mcp-list-failed', `its tools changed and could not be listed again: ${why}`)
      } finally {
        isReading = false
      }
    }
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      isStale = true
      void readAgain()
    })
    return { begin: () => void readAgain() }
  }

  const attempt = async (): Promise<void> => {
    status = { state: 'pending' }
    let link: ServerLink | undefined
    let isAnnounced = false
    try {
      await ending
      if (isClosed()) return
      await settings.onStarting?.(identity)
      isAnnounced = true
      if (isClosed()) return
      link = settings.openLink({ ...settings, identity, config, cwd })
      const client = createClient(settings.client, cwd)
      const here: Session = { link, client }
      const abandoned = new Promise<never>((_, reject) => {
        giveUp = reject
      })
      client.onclose = () => lost(here)
      const changes = followChanges(here)
      const up = client.connect(link.transport, NO_SDK_TIMEOUT).then(() => listTools(client, tellOfTool))
      const list = await within(clock, settings.connectTimeoutMs, Promise.race([up, abandoned]))
      if (isClosed()) throw new Error(CLOSED)
      take(list)
      session = here
      changes.begin()
    } catch (error) {
      const reasons = [describeFailure(error), link?.reason()]
      fail(reasons.filter((reason) => reason !== undefined).join('; '), error)
    } finally {
      giveUp = undefined
      if (isAnnounced && session === undefined) await endLink(link)
    }
  }

  const lost = (from: Session, why?: string): void => {
    if (session !== from) return
    session = undefined
    fail(from.link.reason() ?? why ?? 'the connection was lost')
    void endLink(from.link)
  }

  const connect = (): Promise<void> => {
    if (isClosed() || session !== undefined) return Promise.resolve()
    connecting ??= attempt().finally(() => {
      connecting = undefined
    })
    return connecting
  }

  const call: CallServer = async ({ tool, input, key }, { signal }) => {
    signal.throwIfAborted()
    if (session === undefined) await orAbort(connect(), signal)
    const used = session
    if (used === undefined) return failed(`is not available: ${whyNot(status)}`)
    const timer = createIdleTimer(clock, callTimeoutMs, signal)
    try {
      const params = {
        name: tool,
        arguments: { ...input },
        ...(key !== undefined && { _meta: { 'troupe/call-key': key } }),
      }
      const answer = await used.client.request({ method: 'tools/call', params }, CallAnswer, {
        ...NO_SDK_TIMEOUT,
        signal: timer.signal,
        onprogress: timer.restart,
      })
      return outputOf(answer)
    } catch (error) {
      signal.throwIfAborted()
      if (timer.isOver()) {
        return failed(
          `did not answer within ${callTimeoutMs / 1000} s. The call was cancelled; it may have run`,
        )
      }
      const failure = describeFailure(error)
      // The next call introduces itself anew.
      if (isLinkBroken(error) && session === used) lost(used, failure)
      const reason = used.link.reason()
      const why = session === used || reason === undefined ? failure : `${failure}; ${reason}`
      return failed(`could not do ${tool}: ${why}`)
    } finally {
      timer.stop()
    }
  }
  const failed = (what: string): ToolOutput => ({
    content: `The MCP server ${server} ${what}.`,
    isError: true,
  })

  const close = async (): Promise<void> => {
    const open = session
    session = undefined
    giveUp?.(new Error(CLOSED))
    if (open !== undefined) await endLink(open.link)
    await connecting
    await ending
  }

  return {
    identity,
    status: () => status,
    tools: () => tools,
    connect,
    close() {
      if (closing === undefined) {
        status = { state: 'closed' }
        // Set before the first step of `close`, which others look at.
        closing = Promise.resolve().then(close)
      }
      return closing
    },
  }
}

function createClient(info: ConnectionSettings['client'], cwd: string): Client {
  const client = new Client({ ...info }, { capabilities: { roots: {} } })
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: pathToFileURL(cwd).href }] }))
  return client
}

function whyNot(status: McpServerStatus): string {
  if (status.state === 'failed') return status.reason
  return status.state === 'closed' ? CLOSED : 'it is not connected'
}

/** Rejects when the work takes longer than `ms`; it is left to itself. */
function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(ms, () => reject(new Error(`it did not answer within ${ms / 1000} s`)))
    work.then(resolve, reject).finally(cancel)
  })
}

function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Aborts with `signal`, or `ms` after its last restart. One for each call: the SDK never lets go of a signal. */
function createIdleTimer(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
): {
  readonly signal: AbortSignal
  restart(): void
  isOver(): boolean
  stop(): void
} {
  const controller = new AbortController()
  let isOver = false
  let cancel: CancelTimer = () => {}
  const onAbort = (): void => controller.abort('the call was interrupted')
  let isStopped = false
  const restart = (): void => {
    cancel()
    // Late news of a call that has its answer.
    if (isStopped) return
    cancel = clock.setTimer(ms, () => {
      isOver = true
      controller.abort('the call took too long')
    })
  }
  const stop = (): void => {
    isStopped = true
    cancel()
    signal.removeEventListener('abort', onAbort)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  restart()
  return { signal: controller.signal, restart, isOver: () => isOver, stop }
}
