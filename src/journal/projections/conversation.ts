/**
 * The conversation of one agent, read off its log: which entries there are, and what the engine asks about them.
 *
 * Owns: the order of the entries and a few positions. Does not own their meaning for a model, which is
 * `request-messages.ts`; the entries are the events as they were recorded, damage included.
 *
 *   C1  Append-only: an entry never changes and none is taken away.
 *   C2  One push costs the same at entry 10 and at entry 10,000, and copies no content.
 *   C3  A fork shares its prefix by reference; neither side sees what the other appends.
 */
import type { AgentEventOf, Recorded } from '../../machines/agent/events.ts'
import type { StopReason, ToolUseBlock } from '../../machines/agent/messages.ts'
import { isToolUse, textOf } from '../../machines/agent/messages.ts'
import type { CallId } from '../../machines/ids.ts'
import { SharedList } from './shared-list.ts'

/** The events that a conversation is made of. */
export type ConversationEvent = AgentEventOf<
  'run.started' | 'message.added' | 'reply.received' | 'call.ended' | 'conversation.compacted' | 'results.cut'
>

/** One of them with its place in the log. */
export type ConversationEntry = Recorded<ConversationEvent>

export interface Conversation {
  /** Number of entries. */
  readonly length: number
  /** Why the model stopped last; undefined before its first reply. */
  readonly lastStopReason: StopReason | undefined
  /** Where a fork began: the first `length` entries are those of `conversation`. */
  readonly forkedFrom: { readonly conversation: Conversation; readonly length: number } | undefined
  /** Index of the first entry of the agent's own log: those before it are of a base, or of its parent. */
  readonly ownFrom: number
  /** What is pushed from now on is of the agent's own log. */
  beginOwn(): void
  /** Takes the next event of the log; any but a {@link ConversationEvent} is ignored. */
  push(recorded: Recorded): void
  /** The entry at `index`, counted from 0. */
  at(index: number): ConversationEntry | undefined
  /** The entries in order, from `start` (default 0). */
  entries(start?: number): Iterable<ConversationEntry>
  /** What an open call of the last reply asks for, as the model wrote it; undefined for any other call. */
  toolUse(callId: CallId): ToolUseBlock | undefined
  /** The index of the reply whose first line is at `seq`; undefined when there is no such reply. */
  indexOfReply(seq: number): number | undefined
  /** The text of the reply whose first line is at `seq`: empty when it has none, undefined when there is no such reply. */
  textOfReply(seq: number): string | undefined
  /**
   * A conversation that begins with the first `upTo` entries and goes on by itself. Costs nothing per shared entry:
   * only those since the last shared reply are looked at. Throws a RangeError when there are fewer entries.
   *
   * A forked agent starts before the reply that made the call, which follows as {@link withoutCalls}.
   */
  fork(upTo: number): Conversation
}

/** A conversation without entries. */
export function createConversation(): Conversation {
  return new GrowingConversation(new SharedList())
}

/** Whether an event belongs to the conversation. */
export function isConversationEntry(recorded: Recorded): recorded is ConversationEntry {
  switch (recorded.event.type) {
    case 'run.started':
    case 'message.added':
    case 'reply.received':
    case 'call.ended':
    case 'conversation.compacted':
    case 'results.cut':
      return true
    default:
      return false
  }
}

/**
 * For each block of a reply the id of its call; undefined for blocks that are none, and for a `tool_use` that the
 * event lists no call for. Ids of calls stand in the order of their blocks and answer to the model's own id, which
 * the model may repeat.
 */
export function callIdsOf(event: AgentEventOf<'reply.received'>): readonly (CallId | undefined)[] {
  let next = 0
  const taken = new Set<CallId>()
  return event.reply.content.map((block) => {
    if (!isToolUse(block)) return undefined
    const found = event.calls.findIndex((call, i) => i >= next && call.toolUseId === block.id)
    const call = event.calls[found]
    if (call === undefined) return undefined
    next = found + 1
    if (taken.has(call.callId)) return undefined
    taken.add(call.callId)
    return call.callId
  })
}

/**
 * A reply with all its tool calls left out, answered or not: how a fork inherits the reply that made it. It does not
 * depend on which of the parent's calls were done by then, so that forks of one turn are alike to the byte.
 */
export function withoutCalls(
  recorded: Recorded<AgentEventOf<'reply.received'>>,
): Recorded<AgentEventOf<'reply.received'>> {
  const { event } = recorded
  const content = event.reply.content.filter((block) => block.type !== 'tool_use')
  return { ...recorded, event: { ...event, reply: { ...event.reply, content }, calls: [] } }
}

/** A class, because a thousand live agents have one each: methods on a prototype cost an agent nothing. */
class GrowingConversation implements Conversation {
  readonly forkedFrom: Conversation['forkedFrom']
  readonly #list: SharedList<ConversationEntry>
  readonly #replies = new Map<number, number>()
  /** Finds a reply of the shared prefix by its position in the log. */
  readonly #inherited: ((seq: number) => number | undefined) | undefined
  #open: ReadonlyMap<CallId, ToolUseBlock> = NO_CALLS
  #lastStopReason: StopReason | undefined
  #ownFrom = 0

  constructor(
    list: SharedList<ConversationEntry>,
    forkedFrom?: Conversation['forkedFrom'],
    inherited?: (seq: number) => number | undefined,
  ) {
    this.#list = list
    this.forkedFrom = forkedFrom
    this.#inherited = inherited
    if (list.length > 0) for (const entry of list.items(lastReplyIn(list))) this.#look(entry)
  }

  get length(): number {
    return this.#list.length
  }

  get lastStopReason(): StopReason | undefined {
    return this.#lastStopReason
  }

  get ownFrom(): number {
    return this.#ownFrom
  }

  beginOwn(): void {
    this.#ownFrom = this.length
  }

  push(recorded: Recorded): void {
    if (!isConversationEntry(recorded)) return
    if (recorded.event.type === 'reply.received') this.#replies.set(recorded.event.seq, this.#list.length)
    this.#list.push(recorded)
    this.#look(recorded)
  }

  at(index: number): ConversationEntry | undefined {
    return this.#list.at(index)
  }

  entries(start?: number): Iterable<ConversationEntry> {
    return this.#list.items(start)
  }

  toolUse(callId: CallId): ToolUseBlock | undefined {
    return this.#open.get(callId)
  }

  textOfReply(seq: number): string | undefined {
    const index = this.indexOfReply(seq)
    const event = index === undefined ? undefined : this.#list.at(index)?.event
    return event?.type === 'reply.received' ? textOf(event.reply.content) : undefined
  }

  fork(upTo: number): Conversation {
    return new GrowingConversation(this.#list.fork(upTo), { conversation: this, length: upTo }, (seq) => {
      const index = this.indexOfReply(seq)
      return index !== undefined && index < upTo ? index : undefined
    })
  }

  indexOfReply(seq: number): number | undefined {
    return this.#replies.get(seq) ?? this.#inherited?.(seq)
  }

  #look({ event }: ConversationEntry): void {
    if (event.type === 'reply.received') {
      this.#lastStopReason = event.reply.stop_reason
      this.#open = openCallsOf(event)
    } else if (event.type === 'call.ended' && this.#open.has(event.callId)) {
      const open = new Map(this.#open)
      open.delete(event.callId)
      this.#open = open
    }
  }
}

const NO_CALLS: ReadonlyMap<CallId, ToolUseBlock> = new Map()

function openCallsOf(event: AgentEventOf<'reply.received'>): ReadonlyMap<CallId, ToolUseBlock> {
  if (event.calls.length === 0) return NO_CALLS
  const open = new Map<CallId, ToolUseBlock>()
  const callIds = callIdsOf(event)
  event.reply.content.forEach((block, i) => {
    const callId = callIds[i]
    if (callId !== undefined && isToolUse(block)) open.set(callId, block)
  })
  return open
}

/** The index of the last reply, or 0. */
function lastReplyIn(list: SharedList<ConversationEntry>): number {
  let index = list.length - 1
  while (index > 0 && list.at(index)?.event.type !== 'reply.received') index--
  return Math.max(index, 0)
}
