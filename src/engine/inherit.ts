/**
 * What a child begins with of its parent's conversation: all of it, or what came since the prompt of the parent's run,
 * up to the reply that made the call.
 *
 *   I1  Nothing is copied: entries are shared as objects, and the child's log holds a position, not lines.
 *   I2  The reply that made the call comes without any of its calls, answered or not, so that what is shared does not
 *       depend on when the child was started. One that has then only thinking left goes too.
 */
import type { Conversation } from '../journal/projections/conversation.ts'
import { createConversation, withoutCalls } from '../journal/projections/conversation.ts'
import type { AgentEventOf, Inherited, Recorded, SpawnPlan } from '../machines/agent/events.ts'
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
export function inheritedConversation(parent: Conversation, { seq, from }: Inherited): Conversation {
  const index = parent.indexOfReply(seq)
  const entry = index === undefined ? undefined : parent.at(index)
  if (index === undefined || entry === undefined || !isReply(entry))
    throw new EngineError(
      'impossible-log',
      `a child goes on from line ${seq + 1} of its parent's log, and there is no reply. Restore the logs of the session as they were written.`,
    )
  const beginning = from === 'all' ? parent.fork(index) : sinceLastPrompt(parent, index)
  const said = withoutCalls(entry)
  if (said.event.reply.content.some(({ type }) => type !== 'thinking' && type !== 'redacted_thinking'))
    beginning.push(said)
  return beginning
}

function sinceLastPrompt(parent: Conversation, end: number): Conversation {
  let start = end
  while (start > 0 && parent.at(start)?.event.type !== 'run.started') start -= 1
  const turn = createConversation()
  for (let index = start; index < end; index += 1) {
    const entry = parent.at(index)
    if (entry !== undefined) turn.push(entry)
  }
  return turn
}

const isReply = (entry: Recorded): entry is Recorded<AgentEventOf<'reply.received'>> =>
  entry.event.type === 'reply.received'
