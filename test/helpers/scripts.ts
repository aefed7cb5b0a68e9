/** What scripts of models ask of a request, and agents of any kind. */
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'

/** How many replies a conversation has already. */
export const turnOf = ({ messages }: { readonly messages: readonly { readonly role: string }[] }): number =>
  messages.filter(({ role }) => role === 'assistant').length

/** All that a request has of the conversation, as JSON. */
export const textIn = ({ messages }: ModelRequest): string => JSON.stringify(messages)

/** Whether it is the main agent that asks. */
export const isRoot = ({ source }: ModelRequest): boolean => source === 'main'

/** The name of the last request of another agent that was read. */
export const requestIn = (request: ModelRequest): string | undefined =>
  [...textIn(request).matchAll(/request-id=\\"(a[0-9a-f]{16}:[\d.]+)\\"/g)].at(-1)?.[1]

/** A definition that says as little as it can. */
export const agentKind = (agentType: string, more: Partial<AgentDefinition> = {}): AgentDefinition => ({
  agentType,
  source: 'flagSettings',
  whenToUse: 'Always.',
  getSystemPrompt: () => 'Do it.',
  ...more,
})
