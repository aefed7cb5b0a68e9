/**
 * What an effect says to its agent together with the event that moves it on is one batch; a crash can leave the first
 * lines of it. The effect runs again then, and must not say them twice.
 */
import { isDeepStrictEqual } from 'node:util'
import type { AgentEventOf, EventDraft } from '../../machines/agent/events.ts'
import type { Agent } from '../agent.ts'

type MessageAdded = AgentEventOf<'message.added'>

/** The drafts without messages that the agent has been told since its last reply, or since its prompt. */
export async function withoutSaid(
  agent: Agent,
  drafts: readonly EventDraft[],
): Promise<readonly EventDraft[]> {
  if (!drafts.some(({ type }) => type === 'message.added')) return drafts
  const said = await messagesOfTurn(agent)
  return drafts.filter((draft) => {
    if (draft.type !== 'message.added') return true
    const at = said.findIndex((message) => isSame(message, draft))
    if (at >= 0) said.splice(at, 1)
    return at < 0
  })
}

async function messagesOfTurn(agent: Agent): Promise<MessageAdded[]> {
  const conversation = await agent.conversation.load()
  const said: MessageAdded[] = []
  for (let i = conversation.length - 1; i >= 0; i -= 1) {
    const event = conversation.at(i)?.event
    if (event?.type === 'message.added') said.push(event)
    if (event?.type === 'reply.received' || event?.type === 'run.started') break
  }
  return said
}

const isSame = (one: MessageAdded, other: MessageAdded): boolean =>
  one.about === other.about && isDeepStrictEqual(one.content, other.content)
