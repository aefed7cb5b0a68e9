/** One way to one server: what both kinds of transports give a connection. */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { McpServerConfig } from '../../definitions/mcp-server-config.ts'
import type { Clock } from '../clock.ts'

/** Which server of whom. */
export interface ServerIdentity {
  /** Name of the server. */
  readonly server: string
  /** The agent it is for, or whoever owns the shared ones. */
  readonly owner: string
  /** `<owner>/mcp:<server>`: what its processes carry in their environment. */
  readonly mark: string
}

/** A server's process, as the log should have it. */
export interface ServerProcess extends ServerIdentity {
  readonly pid: number
  readonly startTime: string | undefined
}

/** What a link is made of. */
export interface LinkRequest {
  readonly identity: ServerIdentity
  /** With its variables put in. */
  readonly config: McpServerConfig
  /** Absolute. */
  readonly cwd: string
  /** All that a process inherits. */
  readonly env: Readonly<Record<string, string>>
  readonly clock: Clock
  /** Milliseconds between TERM and KILL. */
  readonly graceMs: number
  /** Bytes of one message of the server; a longer one ends the link. */
  readonly maxMessageBytes: number
  /** Called as soon as the process exists. When it throws, the process is ended and the link fails. */
  readonly onStarted?: ((process: ServerProcess) => void) | undefined
}

/** A link. `transport` is for the SDK's client, which calls `start` and installs its handlers. */
export interface ServerLink {
  readonly transport: Transport
  /** Why it is lost or never came to be, in words that follow «because»; undefined when there is nothing to say. */
  reason(): string | undefined
  /** Closes it. Resolves when nothing of the server that we started is left. Never rejects. */
  end(): Promise<void>
}

/** Makes links; a port, so that tests and simulations speak to servers of their own. */
export type OpenLink = (request: LinkRequest) => ServerLink
