/** Why something went wrong with a server, in words. */
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'
import { messageOf } from '../../definitions/message-of.ts'
import { quoted } from './text.ts'

const SHOWN_CHARS = 300

/** A short reason. Server text in it is on one line and cut. */
export function describeFailure(error: unknown): string {
  if (error instanceof z.core.$ZodError) {
    const issue = error.issues[0]
    return `its answer is not what the protocol wants${issue ? ` (${issue.path.join('.')}: ${issue.message})` : ''}`
  }
  if (error instanceof McpError && error.code === ErrorCode.ConnectionClosed) {
    // What the SDK puts before it says nothing.
    const message = error.message.replace(/^MCP error -?\d+: /, '')
    return message === 'Connection closed' ? 'the connection was closed' : quoted(message, SHOWN_CHARS)
  }
  if (needsAuthorization(error)) {
    return `it answers ${statusOf(error)}: it wants an authorization. Give it one in \`headers\``
  }
  if (error instanceof TypeError && error.cause instanceof Error) {
    const code = 'code' in error.cause ? String(error.cause.code) : error.cause.message
    return `it could not be reached (${quoted(code, 80)})`
  }
  return quoted(messageOf(error), SHOWN_CHARS)
}

/** HTTP: the server does not know who we are, or does not let us. */
export function needsAuthorization(error: unknown): boolean {
  const status = statusOf(error)
  return status === 401 || status === 403
}

/** HTTP: the server has forgotten our session, or cannot be reached at all. */
export function isLinkBroken(error: unknown): boolean {
  const status = statusOf(error)
  if (status !== undefined) return status === 400 || status === 404 || status === 410
  return error instanceof TypeError && error.cause instanceof Error
}

/** The HTTP status that an error of the SDK's transports carries. */
function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || error instanceof McpError || !('code' in error)) return undefined
  return typeof error.code === 'number' && error.code >= 100 ? error.code : undefined
}
