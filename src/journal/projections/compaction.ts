/**
 * What later events take back of a conversation: a compaction replaces all in front of it by a summary, a cut a long
 * result by its ends. The log stays as it is; this says what of it counts for requests. Pure.
 */
import { compactedOpening } from '../../definitions/compaction.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type { PromptContent, ResultContent } from '../../machines/agent/messages.ts'
import type { CallId } from '../../machines/ids.ts'
import type { ConversationEntry } from './conversation.ts'

/** Reads an entry by its index; undefined behind the last. */
export type EntryAt = (index: number) => ConversationEntry | undefined

/** What counts of the first entries of a conversation. */
export interface Epoch {
  /** Index of the first entry that counts: 0 without a compaction. */
  readonly first: number
  /** What stands before it. */
  readonly opening: readonly PromptContent[]
  /** Results that are shorter now, by the index of their entry. */
  readonly cuts: ReadonlyMap<number, ResultContent>
  /** Index of the last entry that takes something back; -1 when there is none. */
  readonly rewrittenAt: number
}

/** Whether an event takes something back of what is before it. */
export const isRewriting = ({ event }: ConversationEntry): boolean =>
  event.type === 'conversation.compacted' || event.type === 'results.cut'

/** The first `length` entries as they count. O(n); needed only after something was taken back. */
export function epochOf(at: EntryAt, length: number): Epoch {
  const cuts = new Map<number, ResultContent>()
  let rewrittenAt = -1
  for (let index = length - 1; index >= 0; index--) {
    const event = at(index)?.event
    if (event?.type === 'results.cut') {
      // The last word on a result counts.
      for (const { callId, content, after = 0 } of event.results) {
        const result = resultBefore(at, index, callId, after)
        if (result !== undefined && !cuts.has(result)) cuts.set(result, content)
      }
      rewrittenAt = Math.max(rewrittenAt, index)
    } else if (event?.type === 'conversation.compacted') {
      const first = firstKept(at, index, event)
      const opening = [...introductions(at, first), ...compactedOpening(event.summary, event.roster)]
      return { first, opening, cuts, rewrittenAt: Math.max(rewrittenAt, index) }
    }
  }
  return { first: 0, opening: [], cuts, rewrittenAt }
}

/** Index of the last result of a call with this id in front of an entry, so many others of that id passed over. */
function resultBefore(at: EntryAt, index: number, callId: CallId, others: number): number | undefined {
  let left = others
  for (let before = index - 1; before >= 0; before--) {
    const event = at(before)?.event
    if (event?.type === 'call.ended' && event.callId === callId && left-- === 0) return before
  }
  return undefined
}

/**
 * Index of the first entry behind what a compaction sums up. Positions are those of the compaction's own log; in front
 * of that log's first entry there may be those of a base, whose positions begin anew.
 */
export function firstKept(
  at: EntryAt,
  index: number,
  { upTo }: AgentEventOf<'conversation.compacted'>,
): number {
  let first = index
  let next = at(index)?.seq ?? 0
  for (let before = at(first - 1); before !== undefined; before = at(first - 1)) {
    if (before.seq <= upTo || before.seq >= next) break
    next = before.seq
    first -= 1
  }
  return first
}

/** What an agent was told before its tasks: instructions and skills, which no summary replaces. Each once. */
function introductions(at: EntryAt, end: number): readonly PromptContent[] {
  const found = new Map<string, PromptContent>()
  for (let index = 0; index < end; index++) {
    const event = at(index)?.event
    if (event?.type !== 'message.added' || event.before !== true) continue
    found.set(JSON.stringify(event.content), event.content)
  }
  return [...found.values()]
}

/**
 * What a compaction would sum up now: so many entries, up to that position. Undefined: nothing that is worth it. No
 * position names a place in front of the log's own entries, the first of which is at index `own`: what stands there is
 * summed up as a whole.
 */
export function compactable(
  at: EntryAt,
  length: number,
  own: number,
): { readonly entries: number; readonly upTo: number } | undefined {
  let reply = length - 1
  while (reply >= 0 && at(reply)?.event.type !== 'reply.received') {
    if (at(reply)?.event.type === 'conversation.compacted') return undefined
    reply -= 1
  }
  if (reply < 0) return undefined
  const entries = Math.max(own, boundary(at, reply, length))
  return { entries, upTo: entries > own ? (at(entries - 1)?.seq ?? 0) : 0 }
}

/** A prompt that nobody has answered yet stays as it is, with what was said around it; results never stand alone. */
function boundary(at: EntryAt, reply: number, length: number): number {
  let first: number | undefined
  let hasPrompt = false
  for (let index = reply + 1; index < length; index++) {
    const type = at(index)?.event.type
    if (type === 'call.ended') first = undefined
    else first ??= index
    if (type === 'run.started') hasPrompt = true
  }
  return hasPrompt ? (first ?? length) : length
}
