/**
 * What an agent is told of others in its conversation: ends of agents in the background, and messages.
 *
 *   N1  Every word stands in an envelope of the engine (law 12). Text of an agent can neither close it nor add a field.
 *   N2  One text for all that is new: a model reads one message, not one per agent.
 */
import { envelope, inert } from './context/envelope.ts'
import type { MessageMeaning } from './message-meaning.ts'
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
  /** The name by which a request is answered. */
  readonly messageId?: string | undefined
  readonly means?: MessageMeaning | undefined
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

/** A message in its envelope. What it means stands in the tag, which no text of an agent can write. */
export function messageText(message: AgentMessage): string {
  const { from, fromType, fromName, text, means } = message
  const name = fromName === undefined ? {} : { name: fromName }
  const attributes = { from, ...name, type: fromType }
  if (means === undefined) return envelope('agent-message', text, { attributes })
  return envelope('agent-message', meaningInWords(message, means), {
    attributes: { ...attributes, ...attributesOf(message, means) },
    isRaw: true,
  })
}

function attributesOf({ messageId = '' }: AgentMessage, means: MessageMeaning): Record<string, string> {
  const kind = means.kind.replaceAll('_', '-')
  return 'requestId' in means
    ? { kind, 'request-id': means.requestId, approve: String(means.approve) }
    : { kind, 'request-id': messageId }
}

/** The engine's words first, and the sender's behind them. */
function meaningInWords({ from, text, messageId = '' }: AgentMessage, means: MessageMeaning): string {
  const said = text.trim() === '' ? [] : [inert(text)]
  const answer = (type: string, more: string): string =>
    `Answer with SendMessage to "${from}", its message an object: {"type": "${type}", "request_id": "${messageId}", "approve": true or false, ${more}}.`
  switch (means.kind) {
    case 'shutdown_request':
      return [
        `You are asked to stop. ${answer('shutdown_response', '"reason": "…"')} With approve true your run ends with that step: bring what must not be lost into order before. Your reason, or without one what you said last, is your report then. With false you go on.`,
        ...said,
      ].join('\n\n')
    case 'shutdown_response':
      return [
        means.approve
          ? 'The agent has agreed to stop: its run ends, and its report is told as ever.'
          : 'The agent has not agreed to stop and goes on.',
        ...said,
      ].join('\n\n')
    case 'plan_approval_request':
      return [
        `The agent is in plan mode and waits for your word on its plan. ${answer('plan_approval_response', '"feedback": "…"')} With approve true it carries the plan out, and may do what you may do and no more.`,
        ...said,
      ].join('\n\n')
    case 'plan_approval_response':
      return [means.approve ? 'Your plan is approved.' : 'Your plan is not approved.', ...said].join('\n\n')
  }
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
