/**
 * Events into lines.
 *
 * Owns: the text of every line. Does not own: files, ids and time, which are handed in.
 *
 *   E1  Pure, and the cost of an event depends on its own size only.
 *   E2  What is handed back as recorded is what a reader of the text gets.
 *   E3  A line is one compact JSON object and a line feed; optional fields are left out, never null.
 *   E4  Conversation lines form one chain by `parentUuid`; lifecycle lines are no part of it.
 *   E5  A reply is one line per content block. All but the last have a null `stop_reason`, and the reply counts
 *       with its last: a write that is cut off leaves no half reply.
 *
 * This is the hot path: the text is put together from pieces, large content is turned into JSON once and never
 * copied as an object, and nothing is validated (readers do that).
 *
 * Our fields that transcripts have no place for travel in one object, `troupe`, without what is default or can be
 * derived. On a user line its keys are those of the event; on an assistant line they are those of {@link BlockNote}.
 */
import { callsOf } from '../machines/agent/calls.ts'
import type {
  AgentEvent,
  AgentEventOf,
  EventDraft,
  Origin,
  Recorded,
  ReplyDraft,
} from '../machines/agent/events.ts'
import type { PromptContent, Reply } from '../machines/agent/messages.ts'
import { isToolUse } from '../machines/agent/messages.ts'
import type { LogCursor, LogIdentity } from './cursor.ts'
import { cursorAfter } from './cursor.ts'
import { shortForm } from './short-form.ts'
import type { UpcasterTable } from './upcast.ts'
import { currentVersion, UPCASTERS } from './upcast.ts'

/** An event with its place, its lines (line feeds included), and the cursor for the next one. */
export interface Encoded {
  readonly recorded: Recorded
  readonly text: string
  readonly cursor: LogCursor
}

/** What `troupe` says on the line of a reply's block. */
export interface BlockNote {
  /** Which block of the reply this is. Absent: the first. */
  readonly block?: number
  /** The call may run beside its neighbours. Absent: no. */
  readonly safe?: true
  /** On the last line of a reply with calls: the run, from which with `seq` their ids are made. */
  readonly run?: number
  /** On the last line: what the reply has and `message` must not say: fields that are null. */
  readonly reply?: Readonly<Record<string, unknown>>
  /** On the last line: fields of the event that this version does not know. */
  readonly event?: Readonly<Record<string, unknown>>
}

/**
 * The lines of the next event of a log. `at` is in milliseconds since the epoch (fractions are dropped), `uuid` is
 * called once per conversation line; `table` is for tests. Throws a `TypeError` for content that JSON cannot hold (cycles, bigints).
 */
export function encode(
  identity: LogIdentity,
  cursor: LogCursor,
  draft: EventDraft,
  at: number,
  uuid: () => string,
  table: UpcasterTable = UPCASTERS,
): Encoded {
  const place: Place = {
    identity,
    frame: frameOf(identity),
    cursor,
    at: Math.trunc(at),
    time: new Date(at).toISOString(),
    table,
  }
  switch (draft.type) {
    case 'run.started':
      return encodePrompt(place, draft, uuid())
    case 'message.added':
      return encodeAdded(place, draft, uuid())
    case 'conversation.compacted':
      return encodeSummary(place, draft, uuid())
    case 'call.ended':
      return encodeResult(place, draft, uuid())
    case 'reply.received':
      return encodeReply(place, draft, uuid)
    default:
      return finish(place, draft, [], lifecycleLine(place, draft))
  }
}

/** What `outcome` is unless the line says otherwise. */
export const defaultOutcome = (result: { readonly is_error?: unknown }): 'ok' | 'error' =>
  result.is_error === true ? 'error' : 'ok'

interface Place {
  readonly identity: LogIdentity
  readonly frame: Frame
  readonly cursor: LogCursor
  readonly at: number
  /** The same as ISO 8601, UTC. */
  readonly time: string
  readonly table: UpcasterTable
}

function finish({ cursor, at }: Place, event: AgentEvent, lines: readonly string[], text: string): Encoded {
  const recorded: Recorded = { seq: cursor.seq, at, event, lines }
  return { recorded, text, cursor: cursorAfter(cursor, recorded) }
}

function encodePrompt(place: Place, event: AgentEventOf<'run.started'>, id: string): Encoded {
  const { type, content, ...said } = event
  const { origin, ...rest } = said
  const note = isOnlyFrom(origin, 'user') ? rest : said
  return finish(place, event, [id], messageLine(place, type, { id, content, more: '', note }))
}

function encodeAdded(place: Place, event: AgentEventOf<'message.added'>, id: string): Encoded {
  const { type, content, origin, ...rest } = event
  const note = { type, ...rest, ...(!isOnlyFrom(origin, 'engine') && { origin }) }
  return finish(place, event, [id], messageLine(place, type, { id, content, more: '"isMeta":true,', note }))
}

function encodeSummary(place: Place, event: AgentEventOf<'conversation.compacted'>, id: string): Encoded {
  const { type, summary, ...rest } = event
  const more = '"isCompactSummary":true,'
  return finish(
    place,
    event,
    [id],
    messageLine(place, type, { id, content: summary, more, note: { type, ...rest } }),
  )
}

/** What a reader takes for granted where nothing is said, and nothing else. */
const isOnlyFrom = (origin: Origin, from: Origin['from']): boolean =>
  origin.from === from && Object.keys(origin).length === 1

/** The line of a message that the user's side says. */
function messageLine(
  place: Place,
  type: string,
  {
    content,
    ...parts
  }: Pick<ConversationParts, 'id' | 'more' | 'note'> & { readonly content: PromptContent },
): string {
  return conversationLine(place, type, {
    kind: 'user',
    parent: place.cursor.lastLine,
    seq: place.cursor.seq,
    message: `{"role":"user","content":${JSON.stringify(content)}}`,
    ...parts,
  })
}

function encodeResult(place: Place, event: AgentEventOf<'call.ended'>, id: string): Encoded {
  const { type, result, outcome, toolUseResult, ...rest } = event
  const source = place.cursor.openCalls.get(event.callId)
  const structured =
    toolUseResult === undefined || toolUseResult === null ? undefined : JSON.stringify(toolUseResult)
  const text = conversationLine(place, type, {
    kind: 'user',
    id,
    parent: place.cursor.lastLine,
    seq: place.cursor.seq,
    message: `{"role":"user","content":[${JSON.stringify(result)}]}`,
    more:
      (structured === undefined ? '' : `"toolUseResult":${structured},`) +
      (source === undefined ? '' : `"sourceToolAssistantUUID":${JSON.stringify(source)},`),
    note: {
      ...rest,
      ...(outcome !== defaultOutcome(result) && { outcome }),
      ...(toolUseResult === null && { toolUseResult }),
    },
  })
  return finish(place, event, [id], text)
}

function encodeReply(place: Place, draft: ReplyDraft, uuid: () => string): Encoded {
  const { type, reply, requestId, concurrencySafe, ...unknown } = draft
  const { seq, run } = place.cursor
  const event: AgentEventOf<'reply.received'> = {
    ...unknown,
    type,
    reply,
    ...(requestId !== undefined && { requestId }),
    seq,
    calls: callsOf(reply, run, seq, concurrencySafe),
  }
  const message = messageOf(reply)
  const more = requestId === undefined ? '' : `"requestId":${JSON.stringify(requestId)},`
  const lines: string[] = []
  let parent = place.cursor.lastLine
  let text = ''
  const last = Math.max(1, reply.content.length) - 1
  for (let i = 0; i <= last; i += 1) {
    const id = uuid()
    const block = reply.content[i]
    const note: BlockNote = {
      ...(i > 0 && { block: i }),
      ...(block !== undefined && isToolUse(block) && concurrencySafe[i] === true && { safe: true as const }),
      ...(i === last && event.calls.length > 0 && { run }),
      ...(i === last && message.rest !== undefined && { reply: message.rest }),
      ...(i === last && hasFields(unknown) && { event: unknown }),
    }
    text += conversationLine(place, type, {
      kind: 'assistant',
      id,
      parent,
      seq: seq + i,
      message: `${message.head}${block === undefined ? '' : JSON.stringify(block)}${i === last ? message.last : message.open}`,
      more,
      note,
    })
    lines.push(id)
    parent = id
  }
  return finish(place, event, lines, text)
}

interface MessageText {
  /** Up to the block. */
  readonly head: string
  /** From behind the block on, where more lines follow. */
  readonly open: string
  /** From behind the block on, on the last line. */
  readonly last: string
  /** What must not stand in the message. */
  readonly rest: Readonly<Record<string, unknown>> | undefined
}

/** The JSON of `message` around its one block. */
function messageOf(reply: Reply): MessageText {
  const { id, type, role, model, content, stop_reason, stop_sequence, usage, ...others } = reply
  const counts = splitNulls(usage)
  const { kept: members, nulls } = splitNulls(others)
  const rest = {
    ...nulls,
    ...(counts.nulls !== undefined && { usage: counts.nulls }),
  }
  const more = hasFields(members) ? JSON.stringify(members).slice(1, -1) : ''
  const tail = `,"usage":${JSON.stringify(counts.kept)}${more === '' ? '' : `,${more}`}}`
  return {
    head: `{"id":${JSON.stringify(id)},"type":"${type}","role":"${role}","model":${JSON.stringify(model)},"content":[`,
    open: `],"stop_reason":null,"stop_sequence":null${tail}`,
    last: `],"stop_reason":${JSON.stringify(stop_reason)},"stop_sequence":${JSON.stringify(stop_sequence)}${tail}`,
    rest: hasFields(rest) ? rest : undefined,
  }
}

type Fields = Readonly<Record<string, unknown>>

/** Servers send nulls for what they leave out; readers of transcripts refuse them. Nearly always there are none. */
function splitNulls(fields: Fields): { readonly kept: Fields; readonly nulls: Fields | undefined } {
  if (!hasNull(fields)) return { kept: fields, nulls: undefined }
  const entries = Object.entries(fields)
  return {
    kept: Object.fromEntries(entries.filter(([, value]) => value !== null)),
    nulls: Object.fromEntries(entries.filter(([, value]) => value === null)),
  }
}

function hasNull(fields: Fields): boolean {
  for (const name in fields) if (fields[name] === null) return true
  return false
}

function hasFields(fields: object): boolean {
  for (const _ in fields) return true
  return false
}

interface ConversationParts {
  readonly kind: 'user' | 'assistant'
  readonly id: string
  readonly parent: string | null
  readonly seq: number
  /** JSON of the message. */
  readonly message: string
  /** Further members, each with a comma behind it. */
  readonly more: string
  readonly note: object
}

function conversationLine({ frame, time, table }: Place, type: string, parts: ConversationParts): string {
  const note = hasFields(parts.note) ? JSON.stringify(parts.note) : '{}'
  return (
    `{"parentUuid":${JSON.stringify(parts.parent)},${frame.who},"type":"${parts.kind}","message":${parts.message},` +
    `${parts.more}"uuid":${JSON.stringify(parts.id)},"timestamp":"${time}",${frame.where},"seq":${parts.seq}` +
    `${versionMember(type, table)}${note === '{}' ? '' : `,"troupe":${note}`}}\n`
  )
}

function lifecycleLine({ identity, frame, cursor, time, table }: Place, event: AgentEvent): string {
  return (
    `{"type":"system","subtype":"troupe","seq":${cursor.seq}${versionMember(event.type, table)},` +
    // Who this is about stands on the first line and on every line of the conversation; here it would be a fifth of
    // the line.
    `"timestamp":"${time}",${event.type === 'agent.spawned' ? `${frame.session},` : ''}"event":${JSON.stringify(shortForm(event, identity))}}\n`
  )
}

function versionMember(type: string, table: UpcasterTable): string {
  const version = currentVersion(type, table)
  return version === 1 ? '' : `,"v":${version}`
}

/** The members that are the same on every line of a log, as JSON. */
interface Frame {
  readonly who: string
  readonly where: string
  readonly session: string
}

const frames = new WeakMap<LogIdentity, Frame>()

function frameOf(identity: LogIdentity): Frame {
  const known = frames.get(identity)
  if (known !== undefined) return known
  const { sessionId, agentId, isSidechain, cwd, version, gitBranch } = identity
  // A root's lines name no agent: to readers of transcripts an agent is always a sub-agent.
  const agent = isSidechain ? { agentId } : {}
  const frame: Frame = {
    who: membersOf({ isSidechain, ...agent }),
    where: membersOf({ userType: 'external', cwd, sessionId, version, gitBranch }),
    session: membersOf({ sessionId, ...agent }),
  }
  frames.set(identity, frame)
  return frame
}

const membersOf = (fields: object): string => JSON.stringify(fields).slice(1, -1)
