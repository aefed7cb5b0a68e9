/** What scripts of models ask of a request, and agents of any kind. */
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'

/** How many replies a conversation has already. */
export const turnOf = ({ messages }: { readonly messages: readonly { readonly role: string }[] }): number =>
  messages.filter(({ role }) => role === 'assistant').length

/** A definition that says as little as it can. */
export const agentKind = (agentType: string, more: Partial<AgentDefinition> = {}): AgentDefinition => ({
  agentType,
  source: 'flagSettings',
  whenToUse: 'Always.',
  getSystemPrompt: () => 'Do it.',
  ...more,
})
