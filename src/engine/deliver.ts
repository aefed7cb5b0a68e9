/**
 * Messages on their way: whoever has ended is reached all the same (A1 and A2 of `agents-port.ts`).
 */
import type { MessageMeaning } from '../definitions/message-meaning.ts'
import { messageText } from '../definitions/notice.ts'
import type { SendReceipt } from '../effects/tools/agents/agents-port.ts'
import { hasChoice } from '../machines/agent/context.ts'
import type { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import { Suspended } from './effects/suspended.ts'
import { settleReview } from './review/owed-reviews.ts'
import { reviveAgent } from './revive.ts'
import { statusOf } from './task-status.ts'
import { nextMacrotask, orAborted } from './waits.ts'

/** A message. `key`: the same message with the same key is sent once. */
export interface Letter {
  readonly text: string
  readonly key: string
  readonly means?: MessageMeaning
  /** It is about the run that is on: whoever has ended does not begin another for it. */
  readonly isForRunOnly?: boolean
}

/**
 * Brings a message to an agent: into its mailbox, or, if it has ended, as the beginning of its next run. Rejects with an
 * `EngineError` (`no-such-agent`), with the reason of the signal, and with `Suspended` when the engine closes.
 */
export async function deliver(
  core: EngineCore,
  sender: Agent,
  id: AgentId,
  { text, key, means, isForRunOnly = false }: Letter,
  signal: AbortSignal,
): Promise<SendReceipt> {
  const { session } = sender
  const recipient = await reviveAgent(core, session, id)
  // Sent before a crash.
  if (recipient.digest.hasMessage(key))
    return { kind: 'sent', to: statusOf(recipient), how: recipient.isRunning ? 'queued' : 'started' }
  while (recipient.isOpen) {
    // Who was stopped meanwhile has nothing to say any more.
    signal.throwIfAborted()
    if (recipient.isRunning) {
      if (!session.isLive(recipient))
        return {
          kind: 'refused',
          message: `Agent ${id} was cut off in the middle of its work; it reads nothing.`,
        }
      if (recipient.digest.mail.length >= core.limits.messages)
        return {
          kind: 'refused',
          message: `Agent ${id} has ${recipient.digest.mail.length} messages waiting (setting limits.messages). Wait until it has read some.`,
        }
      const origin = { from: 'agent', agentId: sender.id } as const
      const posted = await recipient.post({
        type: 'message.accepted',
        messageId: key,
        content: text,
        origin,
        ...(means !== undefined && { means }),
      })
      if (posted === 'taken') return { kind: 'sent', to: statusOf(recipient), how: 'queued' }
      // It is coming to its end: the message begins its next run.
      if (recipient.isRunning) await orAborted(recipient.nextEnd(), signal)
      continue
    }
    if (isForRunOnly)
      return { kind: 'refused', message: `Agent ${id} has ended already: nothing of it is left to be asked.` }
    if (recipient.parent !== undefined && session.isLive(recipient)) {
      // It had ended before a restart, and the call that it was started by has yet to hand its report on.
      await nextMacrotask()
      continue
    }
    const refusal = startRefusal(core, recipient)
    if (refusal !== undefined) return { kind: 'refused', message: refusal }
    // Its next run begins behind the verdict on the last one.
    await settleReview(core, recipient, signal)
    const { agentType: fromType, name: fromName } = sender.birth.plan
    const content = messageText({ from: sender.id, fromType, fromName, text, messageId: key, means })
    if ((await session.startAgain(recipient, content, sender, key)) === 'taken')
      return { kind: 'sent', to: statusOf(recipient), how: 'started' }
    // Somebody else has begun its run; or the engine closes, and the call is made again when it is resumed.
    if (!recipient.isRunning) throw new Suspended(`agent ${id} was not started: the engine closes`)
  }
  return { kind: 'refused', message: `Agent ${id} takes no messages any more.` }
}

/** Why an agent that has ended may not go on. */
function startRefusal({ limits }: EngineCore, { session, parent, id, digest }: Agent): string | undefined {
  if (parent === undefined) {
    const outcome = digest.ended?.outcome
    return outcome !== undefined && !hasChoice(outcome)
      ? 'The main agent has stopped; it reads nothing before the user speaks to it again.'
      : undefined
  }
  return session.agents.length >= limits.liveAgents
    ? `Agent ${id} has ended, and ${session.agents.length} agents are at work, which is the limit (setting limits.liveAgents). Wait for one to end.`
    : undefined
}
