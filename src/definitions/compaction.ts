/** The words of a compaction: what the model is asked for, and how its summary stands in the conversation. Pure. */
import { envelope } from './context/envelope.ts'

/**
 * What stands in for the part of a conversation that was summarised. The summary is a model's text and cannot leave its
 * envelope; the roster is the engine's.
 */
export function compactedOpening(summary: string, roster: string | undefined): readonly string[] {
  return [
    envelope('conversation-summary', `${BEFORE_SUMMARY}\n\n${summary}`),
    ...(roster === undefined ? [] : [envelope('system-reminder', roster, { isRaw: true })]),
  ]
}

const BEFORE_SUMMARY =
  'The conversation so far no longer fits into your context. What follows is your own summary of it. The conversation goes on from there: continue with the work as it stands, and do not start over or repeat what is done. What you need word for word, read again.'

/** A running agent, as its starter is reminded of it. */
export interface RosterEntry {
  readonly agentId: string
  readonly agentType: string
  readonly description: string
}

/** Which agents run on in the background; undefined when none does. */
export function rosterText(agents: readonly RosterEntry[]): string | undefined {
  if (agents.length === 0) return undefined
  const lines = agents.map(
    ({ agentId, agentType, description }) => `- ${agentId} (${agentType}): ${oneLine(description)}`,
  )
  return `These agents that you have started are still at work in the background. You are told when each is done.\n${lines.join('\n')}`
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('<', '‹').trim()

/** What asks for the summary: the last message of a request that is otherwise the conversation's own. */
export const COMPACTION_REQUEST = envelope(
  'system-reminder',
  `The conversation is about to outgrow your context, so everything above will be replaced by a summary that you write now. Whoever goes on from it has nothing else: no message, no file and no result from above. Do not call any tool; answer with the summary alone, as plain text.

Write down, as far as there is anything to say:
1. What was asked for, in the words that matter, with every later wish, correction and limit.
2. What is done, and how it was decided; what was tried and did not work, and why.
3. Files and places that matter, with full paths, and what each is or what was changed in it; short pieces of code where the exact text is needed.
4. Facts that were found out: numbers, names, ids, commands, errors with their exact words, and their causes.
5. What is open: the step that was under way, the next one, and what to be careful about.

Be complete and exact rather than short; leave out greetings and what no longer matters.`,
  { isRaw: true },
)
