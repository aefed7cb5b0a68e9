/** Are the MCP servers there that a definition cannot do without? */

/** How often to look again, in milliseconds, while a required server is pending. */
export const MCP_POLL_MS = 500

/** How long to look, in milliseconds, before the spawn is refused. */
export const MCP_WAIT_MS = 30_000

/** A server as it is now. */
export interface McpServerFact {
  readonly name: string
  readonly status: 'connected' | 'pending' | 'failed' | 'needs-auth' | 'disabled'
  /** Tools that it lists. A connected server without any is of no use. */
  readonly tools: number
}

/** What a requirement comes to at this moment. */
export type McpRequirement =
  | { readonly kind: 'ready' }
  /** Some are still starting and none is hopeless: look again. Names are the parts that were required. */
  | { readonly kind: 'pending'; readonly parts: readonly string[] }
  | { readonly kind: 'missing'; readonly parts: readonly string[]; readonly message: string }

/**
 * Looks at the servers. Each required text is a part of a server's name, case ignored. `isLastLook`: the time is up,
 * so what is still pending is missing.
 */
export function checkMcpRequirement(
  agentType: string,
  required: readonly string[],
  servers: readonly McpServerFact[],
  isLastLook = false,
): McpRequirement {
  const states = required
    .filter((part) => part.trim() !== '')
    .map((part) => ({ part: part.trim(), ...stateOf(part, servers) }))
  const open = states.filter(({ state }) => state !== 'ready')
  if (open.length === 0) return { kind: 'ready' }
  if (!isLastLook && open.every(({ state }) => state === 'pending'))
    return { kind: 'pending', parts: open.map(({ part }) => part) }
  const missing = open.filter(({ state }) => isLastLook || state === 'missing')
  return {
    kind: 'missing',
    parts: missing.map(({ part }) => part),
    message: `The agent type "${agentType}" needs MCP servers that are not ready: ${missing
      .map(({ part, why }) => `${part} (${why})`)
      .join(
        ', ',
      )}. Choose another type, or do the work yourself; the user can connect the server and ask again.`,
  }
}

function stateOf(
  part: string,
  servers: readonly McpServerFact[],
): { readonly state: 'ready' | 'pending' | 'missing'; readonly why: string } {
  const wanted = part.trim().toLowerCase()
  const candidates = servers.filter(({ name }) => name.toLowerCase().includes(wanted))
  if (candidates.some(({ status, tools }) => status === 'connected' && tools > 0))
    return { state: 'ready', why: '' }
  if (candidates.some(({ status }) => status === 'pending'))
    return { state: 'pending', why: 'still starting' }
  const why = candidates.map(({ name, status }) => `${name} ${STATUS_IN_WORDS[status]}`).join(', ')
  return { state: 'missing', why: why === '' ? 'no server has this in its name' : why }
}

const STATUS_IN_WORDS: Readonly<Record<McpServerFact['status'], string>> = {
  connected: 'lists no tools',
  pending: 'is still starting',
  failed: 'could not be started',
  'needs-auth': 'needs a login',
  disabled: 'is switched off',
}
