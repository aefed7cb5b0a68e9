/** The kinds of agents of a simulated session, and what the engine is told besides. */
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import type { RetryPolicy } from '../../src/effects/model/retrying.ts'

/** A tool that a definition names and nobody has. */
export const UNKNOWN_TOOL = 'Gone'

const define = (agentType: string, more: Partial<AgentDefinition>): AgentDefinition => ({
  agentType,
  whenToUse: `work for a ${agentType}`,
  getSystemPrompt: () => `You are a ${agentType}.`,
  source: 'flagSettings',
  ...more,
})

export const DEFINITIONS: readonly AgentDefinition[] = [
  define('worker', {}),
  define('reader', { tools: ['Look', 'Agent', UNKNOWN_TOOL], permissionMode: 'plan', maxTurns: 3 }),
  define('wide', { permissionMode: 'bypassPermissions', isOneShot: true }),
]

export const RETRIES: RetryPolicy = {
  maxRetries: 2,
  firstByteMs: 60_000,
  gapMs: 120_000,
  baseDelayMs: 500,
  maxDelayMs: 32_000,
}
