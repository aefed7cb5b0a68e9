/**
 * The normaliser: the one place where the messages of a request are made from a conversation (law 5). The log stays
 * as it was written, whatever is in it; what the API would refuse is put right on the way out.
 *
 * Owns: which messages there are, in which order, and that they are well formed. The rules for single blocks are in
 * `request-blocks.ts`. Does not own system prompt, tools and cache marks, which the sender adds.
 *
 *   N1  Total and deterministic: any entries give a request that the API accepts, the same entries the same one.
 *   N2  It starts with a user message, roles alternate, and it ends with a user message, except after a reply that
 *       paused, which goes back as it came.
 *   N3  Each `tool_use` has an id of its own and is answered once, in the next user message, in the order of the
 *       calls, before anything else. Results are found by call id, so late ones stand next to their call, of two the
 *       first counts, and a call without one reads as interrupted.
 *   N4  What a model has read is not rewritten: when it speaks, the exchange before is settled. A result that comes
 *       still later is left out, as the model knows that call as interrupted.
 *   N5  Clean blocks pass as the same objects. Thinking passes unchanged or not at all.
 *   N6  Only an event takes back what a model has read: a compaction or a cut (`compaction.ts`). Then everything is made
 *       again, once.
 */

import type { RequestMessage } from '../../machines/agent/messages.ts'
import type { Epoch } from './compaction.ts'
import { epochOf, isRewriting } from './compaction.ts'
import type { Conversation, ConversationEntry } from './conversation.ts'
import type { Exchange, ReplyRules, ToolIds } from './exchanges.ts'
import { beginExchange, createToolIds, extend, messagesOf } from './exchanges.ts'
import { SharedList } from './shared-list.ts'

/** What a model reads where the log lost what came before its first reply. */
export const MISSING_START = '(the beginning of this conversation is missing)'

/** The last word when a request is due and nobody has said anything to answer to. Only a damaged log comes to that. */
export const GO_ON = 'Go on.'

/**
 * The messages of a request after these entries. Pure, O(n).
 *
 * `model` is the one of the request: thinking of other models is left out. Without it all thinking stays.
 */
export function requestMessages(entries: Iterable<ConversationEntry>, model?: string): RequestMessage[] {
  const all = [...entries]
  const { first, opening, cuts } = epochOf((index) => all[index], all.length)
  const rules: ReplyRules = { model, ids: createToolIds(), cuts }
  const messages: RequestMessage[] = []
  let open = beginExchange(0, first, opening)
  let index = first
  for (const entry of all.slice(first)) {
    const next = extend(open, entry, index++, rules)
    if (next !== open) messages.push(...settled(open))
    open = next
  }
  messages.push(...messagesOf(open))
  return readyToSend(messages, open.paused)
}

/** {@link requestMessages} of a conversation that grows, at the cost of what is new. */
export interface RequestMessages {
  /**
   * The messages for a request now. Reads the entries that are new and builds the open exchange again; settled
   * messages are the same objects each time. Handing them over copies one reference per message, O(n) per request.
   */
  messages(): RequestMessage[]
  /**
   * The same for a fork of the conversation. Shares what is settled at the fork point, as the same objects, and reads
   * only the exchange that is open there. Throws a TypeError for a conversation that is no fork of this one.
   */
  fork(child: Conversation): RequestMessages
}

/** The messages of a conversation for requests to one model. Another model needs another one: O(n), once. */
export function createRequestMessages(conversation: Conversation, model?: string): RequestMessages {
  return projectionFrom(conversation, model, {
    done: new SharedList(),
    ids: createToolIds(),
    cuts: NO_CUTS,
    open: beginExchange(0, 0),
    readTo: 0,
    built: undefined,
  })
}

const NO_CUTS: Epoch['cuts'] = new Map()

/** An exchange that is over. */
interface Settled {
  readonly first: number
  readonly messages: readonly RequestMessage[]
}

/** Where a projection begins: settled exchanges, an open one that is yet to be read, up to the entry `readTo`. */
interface Start {
  readonly done: SharedList<Settled>
  readonly ids: ToolIds
  readonly cuts: Epoch['cuts']
  readonly open: Exchange
  readonly readTo: number
  /** The messages of the open exchange once it is read so far, where they are known. */
  readonly built: readonly RequestMessage[] | undefined
}

function projectionFrom(
  conversation: Conversation,
  model: string | undefined,
  { readTo, ...start }: Start,
): RequestMessages {
  let { done, ids, cuts, open } = start
  let position = open.first
  /** Messages of the exchanges that are over, in one row: a request copies it in one go. */
  let row: RequestMessage[] = []
  let inRow = 0
  /** Messages of the open exchange, as long as nothing is added to it. */
  let built: readonly RequestMessage[] | undefined
  /** Index of the last entry that took something back; -1 when none has. */
  let rewrittenAt = -1

  /** Begins anew with what the first `end` entries leave. */
  const rewrite = (end: number): void => {
    const epoch = epochOf((index) => conversation.at(index), end)
    ;({ cuts, rewrittenAt } = epoch)
    done = new SharedList()
    ids = createToolIds()
    row = []
    inRow = 0
    open = beginExchange(0, epoch.first, epoch.opening)
    position = epoch.first
    built = undefined
  }

  const readUntil = (end: number): void => {
    let rules: ReplyRules = { model, ids, cuts }
    while (position < end) {
      const entry = conversation.at(position)
      if (entry === undefined) return
      if (position > rewrittenAt && isRewriting(entry)) {
        rewrite(end)
        rules = { model, ids, cuts }
        continue
      }
      const next = extend(open, entry, position, rules)
      if (next !== open) done.push({ first: open.first, messages: settled(open, built) })
      open = next
      built = undefined
      position += 1
    }
  }
  const openMessages = (): readonly RequestMessage[] => {
    built ??= messagesOf(open)
    return built
  }
  /** The index of the entry that exchange `number` begins with; for the next one to come, where it would. */
  const firstOf = (number: number): number => {
    if (number > done.length) return position
    return number === done.length ? open.first : (done.at(number)?.first ?? 0)
  }
  /** The last exchange that began before entry `index`; the first when none did. */
  const exchangeBefore = (index: number): number => {
    let low = 0
    let high = done.length
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (firstOf(middle) < index) low = middle
      else high = middle - 1
    }
    return low
  }

  readUntil(readTo)
  built = start.built

  return {
    messages: () => {
      readUntil(conversation.length)
      for (const exchange of done.items(inRow)) row.push(...exchange.messages)
      inRow = done.length
      const messages = row.concat(openMessages())
      return readyToSend(messages, open.paused)
    },
    fork: (child) => {
      const from = child.forkedFrom
      if (from?.conversation !== conversation) {
        throw new TypeError('requests can be shared only with a fork of the same conversation')
      }
      // Part of what is shared was taken back behind the fork point, or begins with a summary.
      if (rewrittenAt >= 0) return createRequestMessages(child, model)
      readUntil(from.length)
      if (rewrittenAt >= 0) return createRequestMessages(child, model)
      const number = exchangeBefore(from.length)
      const isWhole = firstOf(number + 1) === from.length
      return projectionFrom(child, model, {
        done: done.fork(number),
        ids: ids.fork(number),
        cuts,
        open: beginExchange(number, firstOf(number)),
        readTo: from.length,
        built: isWhole ? (done.at(number)?.messages ?? openMessages()) : undefined,
      })
    },
  }
}

/** The messages of an exchange that is over, which ends with a user message: only the first can be without one. */
function settled(exchange: Exchange, built = messagesOf(exchange)): readonly RequestMessage[] {
  return built.length === 0 ? [{ role: 'user', content: MISSING_START }] : built
}

/** Puts the end right, in place: a request ends with a user message, or with a pause that has no white space behind it. */
function readyToSend(messages: RequestMessage[], paused: boolean): RequestMessage[] {
  const last = messages.at(-1)
  if (last === undefined) messages.push({ role: 'user', content: MISSING_START })
  else if (last.role === 'assistant' && paused) messages[messages.length - 1] = withoutTrailingSpace(last)
  else if (last.role === 'assistant') messages.push({ role: 'user', content: GO_ON })
  return messages
}

function withoutTrailingSpace(message: RequestMessage): RequestMessage {
  const { content } = message
  if (typeof content === 'string') return { ...message, content: content.trimEnd() }
  const last = content.at(-1)
  const text = last?.type === 'text' ? last['text'] : undefined
  if (last === undefined || typeof text !== 'string' || text === text.trimEnd()) return message
  return { ...message, content: [...content.slice(0, -1), { ...last, text: text.trimEnd() }] }
}
