/**
 * What one line says, taken alone. Pure; the counterpart of `encode.ts`, which says how each event is stored.
 */

import { messageOf } from '../definitions/message-of.ts'
import { callsOf } from '../machines/agent/calls.ts'
import { AgentEvent } from '../machines/agent/events.ts'
import type { ContentBlock, Reply } from '../machines/agent/messages.ts'
import { defaultOutcome } from './encode.ts'
import type { LineObject } from './line.ts'
import { AssistantLine, check, isObject, LifecycleLine, UserLine } from './line.ts'
import { wholeForm } from './short-form.ts'
import type { RawEvent, UpcasterTable } from './upcast.ts'
import { upcast } from './upcast.ts'

/** A line's event before it is checked, one block of a reply, or why it is neither. */
export type Meaning =
  | { readonly kind: 'lifecycle'; readonly line: LifecycleLine; readonly raw: RawEvent }
  | { readonly kind: 'message'; readonly line: UserLine; readonly raw: RawEvent }
  | { readonly kind: 'block'; readonly line: AssistantLine }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'broken'; readonly detail: string }

const FOREIGN: Meaning = { kind: 'foreign' }
const broken = (detail: string): Meaning => ({ kind: 'broken', detail })

/** The meaning of a line that has a position. */
export function meaningOf(line: LineObject): Meaning {
  switch (line['type']) {
    case 'system':
      return line['subtype'] === 'troupe' ? lifecycle(line) : FOREIGN
    case 'user':
      return message(line)
    case 'assistant': {
      const checked = check(AssistantLine, line)
      return checked.ok ? { kind: 'block', line: checked.value } : broken(checked.detail)
    }
    default:
      return FOREIGN
  }
}

function lifecycle(line: LineObject): Meaning {
  const checked = check(LifecycleLine, line)
  return checked.ok
    ? { kind: 'lifecycle', line: checked.value, raw: wholeForm(checked.value) }
    : broken(checked.detail)
}

function message(object: LineObject): Meaning {
  const checked = check(UserLine, object)
  if (!checked.ok) return broken(checked.detail)
  const line = checked.value
  const { content } = line.message
  // A kind of user line that came later names its type; those of a newer version are not known here.
  if (line.troupe.type === 'message.added') {
    const raw: RawEvent = { origin: { from: 'engine' }, ...line.troupe, type: 'message.added', content }
    return { kind: 'message', line, raw }
  }
  if (line.troupe.type === 'conversation.compacted') {
    const raw: RawEvent = { ...line.troupe, type: 'conversation.compacted', summary: content }
    return { kind: 'message', line, raw }
  }
  if (line.troupe.type !== undefined) return FOREIGN
  if (!('callId' in line.troupe)) {
    const raw: RawEvent = { origin: { from: 'user' }, ...line.troupe, type: 'run.started', content }
    return { kind: 'message', line, raw }
  }
  const result: unknown = Array.isArray(content) && content.length === 1 ? content[0] : undefined
  if (!isObject(result)) return broken('message.content: it is not one tool_result block')
  const raw: RawEvent = {
    outcome: defaultOutcome(result),
    ...('toolUseResult' in line && { toolUseResult: line['toolUseResult'] }),
    ...line.troupe,
    type: 'call.ended',
    result,
  }
  return { kind: 'message', line, raw }
}

/** The blocks of a whole reply, in order, with what their lines say of each. */
export interface ReplyParts {
  /** Position of the first line. */
  readonly seq: number
  readonly blocks: readonly ContentBlock[]
  readonly safe: readonly boolean[]
}

/** The event of a reply whose last line this is. `run` is the one that is on, should the line not tell. */
export function replyIn(line: AssistantLine, { seq, blocks, safe }: ReplyParts, run: number): RawEvent {
  const { message } = line
  const more = line.troupe?.reply
  const reply = { ...message, ...more, content: blocks, usage: { ...message.usage, ...more?.usage } }
  return {
    ...line.troupe?.event,
    type: 'reply.received',
    reply,
    ...(line.requestId !== undefined && { requestId: line.requestId }),
    seq,
    // `callsOf` reads the content only, which is checked; the rest of the reply is checked with the event.
    calls: callsOf(reply as unknown as Reply, line.troupe?.run ?? run, seq, safe),
  }
}

/** An event that was checked, or what stands in its way. */
export type Checked =
  | { readonly kind: 'event'; readonly event: AgentEvent }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'broken'; readonly detail: string }

const KNOWN_TYPES: ReadonlySet<string> = new Set(AgentEvent.options.map((option) => option.shape.type.value))

/** Brings an event to its newest shape and validates it. One that is newer than this program is foreign. */
export function eventOf(raw: RawEvent, version: number, table: UpcasterTable): Checked {
  let current: RawEvent | undefined
  try {
    current = upcast(raw, version, table)
  } catch (error) {
    const why = messageOf(error)
    return {
      kind: 'broken',
      detail: `${raw.type}: its old shape (version ${version}) cannot be read: ${why}`,
    }
  }
  if (current === undefined || !KNOWN_TYPES.has(current.type)) return { kind: 'foreign' }
  const checked = check(AgentEvent, current)
  return checked.ok
    ? { kind: 'event', event: checked.value }
    : { kind: 'broken', detail: `${current.type}: ${checked.detail}` }
}
