/**
 * What an agent is told of others in its conversation: ends of agents in the background, and messages.
 *
 *   N1  Every word stands in an envelope of the engine (law 12). Text of an agent can neither close it nor add a field.
 *   N2  One text for all that is new: a model reads one message, not one per agent.
 */
import { envelope, inert } from './context/envelope.ts'
import type { ReportFacts } from './report.ts'
import { agentResultContent, totalTokensOf } from './report.ts'
import { reviewNote } from './review/notes.ts'

/** The end of a run in the background. */
export interface EndedTask extends ReportFacts {
  readonly status: 'completed' | 'failed' | 'killed'
  /** What it was to do, in a few words. */
  readonly description: string
  /** The model's id of the call that started it. */
  readonly toolUseId?: string | undefined
  readonly outputFile?: string | undefined
  /** Why it failed or was stopped. */
  readonly why?: string | undefined
  /** Who started it, where that is not the agent that is told: types from the nearest down. */
  readonly startedBy?: string | undefined
}

/** A message of another agent. */
export interface AgentMessage {
  readonly from: string
  readonly fromType: string
  readonly fromName?: string | undefined
  readonly text: string
}

/** The fields of a notification, none of which a report may write. */
const FIELDS = /<(?=\/?\s*(?:task-id|tool-use-id|output-file|status|summary|result|usage|started-by)\b)/giu

/** One text for everything that is new. `maxChars`: UTF-16 code units of each report. */
export function newsText(
  ends: readonly EndedTask[],
  messages: readonly AgentMessage[],
  maxChars: number,
): string {
  return [...ends.map((end) => notification(end, maxChars)), ...messages.map(messageText)].join('\n\n')
}

function notification(end: EndedTask, maxChars: number): string {
  // The warning is an envelope of its own, which must not be taken for the agent's text.
  const warning = end.text.trim() === '' ? undefined : reviewNote(end.review)
  const result = agentResultContent({ ...end, review: undefined, isOneShot: true }, maxChars)
    .map(({ text }) => text)
    .join('\n\n')
  const fields = [
    field('task-id', end.agentId),
    field('tool-use-id', end.toolUseId),
    field('output-file', end.outputFile),
    field('status', end.status),
    field('started-by', end.startedBy),
    field('summary', summaryOf(end)),
    warning?.replace(FIELDS, '&lt;') ?? '',
    field('result', result),
    `<usage><total_tokens>${totalTokensOf(end.usage)}</total_tokens><tool_uses>${end.toolUses}</tool_uses><duration_ms>${end.durationMs}</duration_ms></usage>`,
  ].filter((text) => text !== '')
  return envelope('task-notification', fields.join('\n'), { isRaw: true })
}

function field(name: string, text: string | undefined): string {
  if (text === undefined || text === '') return ''
  return `<${name}>${inert(text).replace(FIELDS, '&lt;')}</${name}>`
}

/** The end in one sentence. */
export function summaryOf({ agentType, description, status, why }: EndedTask): string {
  const who = `Agent "${description}" (${agentType})`
  const because = why === undefined ? '' : `: ${why}`
  switch (status) {
    case 'completed':
      return `${who} is done`
    case 'failed':
      return `${who} failed${because}`
    case 'killed':
      return `${who} was stopped${because}`
  }
}

/** A message in its envelope. */
export function messageText({ from, fromType, fromName, text }: AgentMessage): string {
  const name = fromName === undefined ? {} : { name: fromName }
  return envelope('agent-message', text, { attributes: { from, ...name, type: fromType } })
}

/** A question in its envelope, with how to answer it. */
export function questionText(message: AgentMessage): string {
  return `${message.text}\n\n(This agent waits for your answer: send it with SendMessage to "${message.from}".)`
}

/** What the call that started an agent in the background hands to its model. */
export function launchedText(agentId: string, outputFile: string | undefined): string {
  return [
    `The agent works in the background. agentId: ${agentId}`,
    'You are told by a <task-notification> when it is done; do not wait for it, do not ask after it again and again, and do not guess what it will find. Go on with other work, or end your turn.',
    ...(outputFile === undefined ? [] : [`Its progress: ${outputFile}`]),
  ].join('\n')
}
