/** What the classifier is shown of a session: the user's own words, an agent's task, the steps of its run. */
import { jsonOf, type WorkStep } from '../../definitions/review/question.ts'
import type { Conversation, ConversationEntry } from '../../journal/projections/conversation.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import { contentText, isText, isToolUse } from '../../machines/agent/messages.ts'
import type { Agent } from '../agent.ts'

/**
 * What the user has said to the root of an agent's tree, oldest first (law 12: by the engine's mark, not by the text).
 * Rejects when the root's log cannot be read.
 */
export async function userWordsOf({ session }: Agent): Promise<readonly string[]> {
  const words: string[] = []
  for (const { event } of (await session.root.conversation.load()).entries()) {
    if (event.type !== 'run.started' && event.type !== 'message.added') continue
    if (event.origin.from === 'user') words.push(contentText(event.content))
  }
  return words
}

/** The entries of the run that is on, its prompt first. */
export function entriesOfRun(conversation: Conversation): readonly ConversationEntry[] {
  const entries: ConversationEntry[] = []
  for (let i = conversation.length - 1; i >= 0; i -= 1) {
    const entry = conversation.at(i)
    if (entry === undefined) break
    entries.push(entry)
    if (entry.event.type === 'run.started') break
  }
  return entries.reverse()
}

/** What the run was asked, and by whom. */
export function promptOf(
  entries: readonly ConversationEntry[],
): { readonly text: string; readonly isOfUser: boolean } | undefined {
  const event = entries[0]?.event
  if (event?.type !== 'run.started') return undefined
  return { text: contentText(event.content), isOfUser: event.origin.from === 'user' }
}

/** What an agent did in a run. What the engine tells every agent of its surroundings is left out, and so is thinking. */
export function stepsOf(entries: readonly ConversationEntry[]): readonly WorkStep[] {
  const tools = new Map<string, string>()
  const steps: WorkStep[] = []
  for (const { event } of entries) {
    switch (event.type) {
      case 'run.started':
        break
      case 'message.added':
        if (event.origin.from !== 'engine' || event.tells !== undefined || event.injects !== undefined)
          steps.push({ kind: 'told', of: event.origin.from, text: contentText(event.content) })
        break
      case 'reply.received':
        for (const { callId, name } of event.calls) tools.set(callId, name)
        steps.push(...said(event))
        break
      case 'call.ended':
        steps.push(resultStep(event, tools.get(event.callId)))
        break
    }
  }
  return steps
}

const resultStep = (
  { outcome, result }: AgentEventOf<'call.ended'>,
  toolName: string | undefined,
): WorkStep => ({
  kind: 'result',
  ...(toolName !== undefined && { of: toolName }),
  ...(outcome !== 'ok' && { outcome }),
  text: contentText(result.content ?? ''),
})

function said({ reply }: AgentEventOf<'reply.received'>): readonly WorkStep[] {
  return reply.content.flatMap((block): readonly WorkStep[] => {
    if (isText(block)) return block.text.trim() === '' ? [] : [{ kind: 'said', text: block.text }]
    return isToolUse(block) ? [{ kind: 'called', of: block.name, text: jsonOf(block.input) }] : []
  })
}
