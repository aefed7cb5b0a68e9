/** Reading a conversation: which question is open, and what the calls made for it have brought. */
import type { ContentBlock, ResultContent } from '../../../machines/agent/messages.ts'
import { isText, isToolResult, isToolUse } from '../../../machines/agent/messages.ts'
import type { RequestMessage } from '../model.ts'

/** A call together with its result, where there is one already. */
export interface Exchange {
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
  /** The text of the result; empty where there is none. */
  readonly result: string
  readonly failed: boolean
}

/** A question and the rounds of calls made for it, oldest first. */
export interface Episode {
  /** What the user, or the agent that gave the task, has written; without what the engine adds. */
  readonly question: string
  readonly rounds: readonly (readonly Exchange[])[]
  /** Reports of background agents that came as notices, by the id of the call that started them. */
  readonly notices: ReadonlyMap<string, Notice>
  /** Ids of the calls of `rounds`, in the same order. */
  readonly callIds: readonly (readonly string[])[]
}

/** What a notice says of a background agent. */
export interface Notice {
  readonly status: string
  readonly result: string
}

/** All episodes of a conversation, oldest first. Empty when nobody has asked anything yet. */
export function readEpisodes(messages: readonly RequestMessage[]): readonly Episode[] {
  const results = resultsOf(messages)
  const episodes: Mutable<Episode>[] = []
  for (const message of messages) {
    if (message.role === 'user') {
      const text = textsOf(message).join('\n')
      const question = withoutEnvelopes(text)
      if (question !== '') episodes.push({ question, rounds: [], callIds: [], notices: new Map() })
      const current = episodes.at(-1)
      if (current !== undefined) current.notices = new Map([...current.notices, ...noticesIn(text)])
      continue
    }
    const calls = blocksOf(message).filter(isToolUse)
    const current = episodes.at(-1)
    if (current === undefined || calls.length === 0) continue
    current.callIds = [...current.callIds, calls.map((call) => call.id)]
    current.rounds = [
      ...current.rounds,
      calls.map((call) => ({
        tool: call.name,
        input: isRecord(call.input) ? call.input : {},
        result: results.get(call.id)?.text ?? '',
        failed: results.get(call.id)?.failed ?? false,
      })),
    ]
  }
  return episodes
}

/** Text that a result holds; several blocks are joined by line breaks. */
function resultText(content: ResultContent | undefined): string {
  if (content === undefined) return ''
  return typeof content === 'string'
    ? content
    : content
        .filter(isText)
        .map((block) => block.text)
        .join('\n')
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const blocksOf = (message: RequestMessage): readonly ContentBlock[] =>
  typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content

const textsOf = (message: RequestMessage): readonly string[] =>
  blocksOf(message)
    .filter(isText)
    .map((block) => block.text)

function resultsOf(
  messages: readonly RequestMessage[],
): ReadonlyMap<string, { text: string; failed: boolean }> {
  const all = new Map<string, { text: string; failed: boolean }>()
  for (const message of messages)
    for (const block of blocksOf(message))
      if (isToolResult(block))
        all.set(block.tool_use_id, { text: resultText(block.content), failed: block.is_error === true })
  return all
}

/** What the engine says stands in an element whose name has a dash or an underscore: `<system-reminder>…`. */
const ENVELOPE = /<([a-z]+(?:[-_][a-z]+)+)(?:\s[^>]*)?>[\s\S]*?<\/\1>/g

const withoutEnvelopes = (text: string): string => text.replace(ENVELOPE, '').trim()

function noticesIn(text: string): ReadonlyMap<string, Notice> {
  const notices = new Map<string, Notice>()
  for (const [notice] of text.matchAll(/<task-notification>[\s\S]*?<\/task-notification>/g)) {
    const field = (name: string): string =>
      new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(notice)?.[1]?.trim() ?? ''
    // What stands inside an envelope is escaped.
    const plain = (text: string): string =>
      text.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&')
    notices.set(field('tool-use-id'), { status: field('status'), result: plain(field('result')) })
  }
  return notices
}
