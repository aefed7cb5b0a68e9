/**
 * The beginning of a conversation that a child shares with its parent: all of the parent's, or what came since the prompt
 * of the parent's run, up to the reply that made the call.
 *
 *   I1  Nothing is copied: entries are shared as objects, and the child's log holds a position, not lines.
 *   I2  The reply that made the call comes without any of its calls, answered or not, so that what is shared does not
 *       depend on when the child was started. One that has then only thinking left goes too.
 */
import type { AgentEventOf, Inherited, Recorded } from '../../machines/agent/events.ts'
import type { Conversation } from './conversation.ts'
import { createConversation, withoutCalls } from './conversation.ts'

/** The beginning, for the child to go on. Undefined: the parent's conversation does not have that reply. */
export function inheritedConversation(
  parent: Conversation,
  { seq, from }: Inherited,
): Conversation | undefined {
  const index = parent.indexOfReply(seq)
  const entry = index === undefined ? undefined : parent.at(index)
  if (index === undefined || entry === undefined || !isReply(entry)) return undefined
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
