/** What a child begins with of its parent's conversation, as its birth says it, and as it is read. */
import type { Conversation } from '../journal/projections/conversation.ts'
import { inheritedConversation } from '../journal/projections/inherited.ts'
import type { Inherited, SpawnPlan } from '../machines/agent/events.ts'
import type { Agent } from './agent.ts'
import { EngineError } from './errors.ts'

/** What the birth of a child says of it; nothing for a child that begins with its task alone. */
export function inheritance(parent: Agent, plan: SpawnPlan): { readonly inherits?: Inherited } {
  const { conversation, isFork } = plan
  const reply = parent.digest.lastReply
  if (conversation === undefined || reply === undefined) return {}
  const { prepared } = parent.digest
  const seen = [...parent.seen.files()]
  return {
    inherits: {
      seq: reply.seq,
      from: conversation.value,
      ...(isFork === true &&
        prepared !== undefined && { fork: { system: prepared.system, tools: prepared.tools } }),
      ...(isFork === true && seen.length > 0 && { seen }),
    },
  }
}

/** The beginning of a child's conversation, for it to go on. Throws an `EngineError` when the parent's log lacks it. */
export function beginningOf(parent: Conversation, inherits: Inherited): Conversation {
  const beginning = inheritedConversation(parent, inherits)
  if (beginning !== undefined) return beginning
  throw new EngineError(
    'impossible-log',
    `a child goes on from line ${inherits.seq + 1} of its parent's log, and there is no reply. Restore the logs of the session as they were written.`,
  )
}
