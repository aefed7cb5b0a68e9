/**
 * A conversation cut into exchanges: what the model said, and what it was answered before it spoke again.
 *
 * An exchange is one assistant message and the user message after it; the first has no assistant message. It takes
 * entries until the model speaks again; from then on it is closed, and with it the only place where its calls can
 * be answered.
 */
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type {
  ContentBlock,
  PromptContent,
  RequestMessage,
  ResultContent,
  ToolResultBlock,
} from '../../machines/agent/messages.ts'
import type { CallId } from '../../machines/ids.ts'
import type { ConversationEntry } from './conversation.ts'
import type { CleanReply, RequestedCall } from './request-blocks.ts'
import { cleanPrompt, cleanReply, cleanResult, interruptedResult } from './request-blocks.ts'

/** What a model reads in place of a prompt that says nothing. */
export const EMPTY_PROMPT = '(empty message)'

/** What happened between two replies. Filled in place while it is open. */
export interface Exchange {
  /** Its number in the conversation, from 0. Any but the first begins with a reply. */
  readonly number: number
  /** Index of its first entry. */
  readonly first: number
  readonly blocks: ContentBlock[]
  readonly calls: RequestedCall[]
  /** The first result for each call id, known or not. */
  readonly results: Map<CallId, ToolResultBlock>
  readonly prompts: PromptContent[]
  /** Where among them the last run's prompt is: what is told before it goes there. */
  task: number
  /** The model paused (`pause_turn`) and goes on from its own last words. */
  paused: boolean
}

/** What decides how replies become messages, the same for a whole conversation. */
export interface ReplyRules {
  /** The model of the requests; undefined keeps every model's thinking. */
  readonly model: string | undefined
  readonly ids: ToolIds
  /** Results that are shorter now, by the index of their entry. */
  readonly cuts: ReadonlyMap<number, ResultContent>
}

/** The tool ids of a conversation's requests, and in which exchange each stands. */
export interface ToolIds {
  /** Whether an exchange before number `before` (default: any) has the id. */
  has(id: string, before?: number): boolean
  add(id: string, exchange: number): void
  /** Ids of a conversation that shares all exchanges before number `before`. O(1). */
  fork(before: number): ToolIds
}

export function createToolIds(origin?: ToolIds, shared = 0): ToolIds {
  const own = new Map<string, number>()
  const ids: ToolIds = {
    has: (id, before = Number.POSITIVE_INFINITY) =>
      (own.get(id) ?? Number.POSITIVE_INFINITY) < before ||
      (origin?.has(id, Math.min(before, shared)) ?? false),
    add: (id, exchange) => {
      own.set(id, exchange)
    },
    fork: (before) => createToolIds(ids, before),
  }
  return ids
}

/** `opening`: what is said in it before anything else. */
export function beginExchange(
  number: number,
  first: number,
  opening: readonly PromptContent[] = [],
): Exchange {
  return {
    number,
    first,
    blocks: [],
    calls: [],
    results: new Map(),
    prompts: [...opening],
    task: opening.length,
    paused: false,
  }
}

/**
 * Takes one entry into the open exchange, in place, or returns the next exchange, begun with it. A reply of which
 * nothing can be sent leaves no trace; one that follows another reply directly goes on with its message.
 */
export function extend(
  open: Exchange,
  { event }: ConversationEntry,
  index: number,
  rules: ReplyRules,
): Exchange {
  switch (event.type) {
    case 'run.started':
      open.task = open.prompts.push(event.content) - 1
      return open
    case 'message.added':
      if (event.before === true) open.prompts.splice(open.task++, 0, event.content)
      else open.prompts.push(event.content)
      return open
    case 'call.ended':
      if (!open.results.has(event.callId)) open.results.set(event.callId, resultOf(event, index, rules.cuts))
      return open
    // What they take back is known before anything is read.
    case 'conversation.compacted':
    case 'results.cut':
      return open
    case 'reply.received': {
      const here = takesReply(open)
      const number = here ? open.number : open.number + 1
      const reply = cleanReply(event, rules.model, (wanted, position) =>
        claim(rules.ids, wanted, position, number),
      )
      if (reply === undefined) return open
      return say(here ? open : beginExchange(number, index), reply, event)
    }
  }
}

function resultOf(
  { result }: AgentEventOf<'call.ended'>,
  index: number,
  cuts: ReadonlyMap<number, ResultContent>,
): ToolResultBlock {
  const content = cuts.size === 0 ? undefined : cuts.get(index)
  return content === undefined ? result : { ...result, content }
}

/** The first exchange has no reply; any other waits for its own, or has not been answered yet. */
function takesReply({ number, blocks, calls, prompts }: Exchange): boolean {
  return blocks.length === 0 ? number > 0 : calls.length === 0 && prompts.length === 0
}

function say(exchange: Exchange, said: CleanReply, { reply }: AgentEventOf<'reply.received'>): Exchange {
  for (const block of said.blocks) exchange.blocks.push(block)
  for (const call of said.calls) exchange.calls.push(call)
  exchange.paused = reply.stop_reason === 'pause_turn'
  return exchange
}

/** A repeated id gets the place of its block in the log, which is unique there; the loop is for damaged logs. */
function claim(ids: ToolIds, wanted: string, position: number, exchange: number): string {
  let id = wanted
  for (let place = position; ids.has(id); place++) id = `${wanted}_${place}`
  ids.add(id, exchange)
  return id
}

/**
 * The messages of an exchange: results first, in the order of their calls, each call answered once, then what was
 * said. None while nothing was asked or said.
 */
export function messagesOf({ blocks, calls, results, prompts }: Exchange): readonly RequestMessage[] {
  const answers = calls.map(({ id, callId }) => {
    const result = callId === undefined ? undefined : results.get(callId)
    return result === undefined ? interruptedResult(id) : cleanResult(result, id)
  })
  const asked = answeredWith(answers, prompts)
  return [
    ...(blocks.length > 0 ? [{ role: 'assistant' as const, content: [...blocks] }] : []),
    ...(asked === undefined ? [] : [{ role: 'user' as const, content: asked }]),
  ]
}

function answeredWith(
  answers: readonly ToolResultBlock[],
  prompts: readonly PromptContent[],
): PromptContent | undefined {
  const said = prompts.flatMap(cleanPrompt)
  const [only] = said
  if (answers.length === 0 && said.length <= 1 && typeof only !== 'object') {
    return only ?? (prompts.length > 0 ? EMPTY_PROMPT : undefined)
  }
  return [...answers, ...said.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part))]
}
