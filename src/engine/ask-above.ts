/**
 * What an agent puts to the one that started it, and waits for: a question, or a plan.
 *
 *   B1  A parent that waits for the caller could not answer: the caller goes to the background first, and its parent has
 *       its call back.
 *   B2  It is put once, by the key of its call: the parent's own log knows it after a restart.
 *   B3  Nobody waits for ever: not for one who has come to its end, nor for one who has read it and waits itself, for
 *       nobody but such as wait for it.
 */
import { Subscription, skip } from 'rxjs'
import { inert } from '../definitions/context/envelope.ts'
import { questionText } from '../definitions/notice.ts'
import type { ParentAnswer } from '../effects/tools/agents/agents-port.ts'
import type { AgentEventOf } from '../machines/agent/events.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import type { Letter } from './deliver.ts'
import { deliver } from './deliver.ts'
import { orAborted } from './waits.ts'

type Message = AgentEventOf<'message.accepted'>

/** The next message of the agent above, or why none is waited for. */
type WordFromAbove =
  | { readonly kind: 'message'; readonly message: Message }
  | { readonly kind: 'none'; readonly why: string }

/** Who waits for a word of the agent above. */
const asking = new WeakSet<Agent>()

/** Asks the agent above and waits for its next message. Rejects when the call is aborted. */
export async function askParent(
  core: EngineCore,
  caller: Agent,
  question: string,
  key: string,
  signal: AbortSignal,
): Promise<ParentAnswer> {
  const text = questionText({ from: caller.id, fromType: caller.birth.plan.agentType, text: question })
  const word = await askAbove(core, caller, { text, key }, 'its question', signal)
  if (word.kind === 'none') return { kind: 'unanswered', why: word.why }
  const { content, messageId } = word.message
  return { kind: 'answered', text: inert(content), messageId }
}

/** The same for anything. `by`: what moves the caller to the background. */
export async function askAbove(
  core: EngineCore,
  caller: Agent,
  letter: Letter,
  by: string,
  signal: AbortSignal,
): Promise<WordFromAbove> {
  const { parent, session } = caller
  if (parent === undefined) return { kind: 'none', why: 'Nobody has started you, so there is nobody to ask.' }
  if (!caller.isInBackground) await caller.post({ type: 'agent.backgrounded', by })
  const receipt = await session.inTurn(parent.id, () => deliver(core, caller, parent.id, letter, signal))
  if (receipt.kind === 'refused') return { kind: 'none', why: receipt.message }
  asking.add(caller)
  try {
    while (true) {
      // Before it looks, so that nothing arrives in between.
      const arrived = caller.news.next()
      const above = caller.parent ?? parent
      const word = wordFor(caller, above) ?? silenceOf(above, letter.key)
      if (word !== undefined) return word
      const change = changeOf(above)
      await orAborted(Promise.race([arrived, change.happens]), signal).finally(change.letGo)
    }
  } finally {
    asking.delete(caller)
  }
}

/** What there is for an agent that waits for a word of `parent`; undefined: nothing. */
export function wordFor({ digest }: Agent, parent: Agent): WordFromAbove | undefined {
  if (digest.mail.some(({ means }) => means?.kind === 'shutdown_request'))
    return { kind: 'none', why: 'You are asked to stop: that stands in front of your next step.' }
  const message = digest.mail.find(({ origin }) => origin.from === 'agent' && origin.agentId === parent.id)
  return message && { kind: 'message', message }
}

function silenceOf(above: Agent, key: string): WordFromAbove | undefined {
  if (!above.isRunning || above.failure !== undefined)
    return { kind: 'none', why: 'Whoever started you has come to its end.' }
  const { digest, session } = above
  const hasRead = digest.hasMessage(key) && !digest.mail.some(({ messageId }) => messageId === key)
  const waitsForAskers =
    above.phase$.value === 'waiting' &&
    digest.owed.every(({ agentId }) => {
      const live = session.live(agentId)
      return live !== undefined && asking.has(live)
    })
  return hasRead && waitsForAskers
    ? { kind: 'none', why: 'Whoever started you has read it, given no answer, and waits for you.' }
    : undefined
}

/** Waits until the agent is in another phase, has ended or failed. When the engine closes, the caller is stopped with it. */
function changeOf(agent: Agent): { readonly happens: Promise<void>; readonly letGo: () => void } {
  const phases = new Subscription()
  const happens = new Promise<void>((resolve) => {
    // The first one is the phase that it is in.
    phases.add(agent.phase$.pipe(skip(1)).subscribe(() => resolve()))
    agent.nextEnd().then(
      () => resolve(),
      () => {
        if (agent.failure !== undefined) resolve()
      },
    )
  })
  return { happens, letGo: () => phases.unsubscribe() }
}
