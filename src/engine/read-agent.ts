/**
 * An agent as its log tells it: what the machine, the digest and the conversation come to. Starts nothing.
 *
 * With a snapshot only the tail is read: the state is there at once, the conversation comes when somebody asks for it.
 * That reads the log from its start and folds it once more, which also shows whether the snapshot was right, before
 * anything that rests on it is sent to a model. (What a compaction leaves behind will bound it.)
 */
import { isDeepStrictEqual } from 'node:util'
import type { LogCursor } from '../journal/cursor.ts'
import { START_CURSOR } from '../journal/cursor.ts'
import { check } from '../journal/line.ts'
import type { DamageItem, Span } from '../journal/log-items.ts'
import type { Conversation } from '../journal/projections/conversation.ts'
import { createConversation } from '../journal/projections/conversation.ts'
import { createLogReader } from '../journal/read-log.ts'
import type { Snapshot } from '../journal/snapshots.ts'
import type { Storage } from '../journal/storage.ts'
import type { AgentEventOf, Recorded } from '../machines/agent/events.ts'
import { MACHINE_VERSION } from '../machines/agent/events.ts'
import type { AgentState } from '../machines/agent/fold.ts'
import { foldAgent, UNBORN } from '../machines/agent/fold.ts'
import { persistRun, reviveRun } from '../machines/agent/persist.ts'
import type { ReplyPlace } from './digest-value.ts'
import { DigestValue } from './digest-value.ts'
import { EngineError, messageOf } from './errors.ts'
import { LazyConversation } from './lazy-conversation.ts'
import { LogDigest } from './log-digest.ts'
import { refuseLosses } from './log-losses.ts'

/** Where an event stands in its log: its bytes, and its first line. */
export interface EventPlace extends Span {
  readonly seq: number
}

/** What a log comes to. */
export interface ReadAgent {
  readonly state: AgentState
  readonly digest: LogDigest
  readonly conversation: LazyConversation
  /** Where writing goes on: the log's cursor, and the byte that the next line will begin with. */
  readonly cursor: LogCursor
  readonly offset: number
  readonly lastEvent: EventPlace | undefined
  /** Damage in what was read. */
  readonly damage: readonly DamageItem[]
  /** How many events were read: those that no snapshot is of. */
  readonly events: number
}

/** What is known before the first byte that is read. */
interface Beginning {
  readonly state: AgentState
  readonly digest: LogDigest
  readonly conversation: LazyConversation
  readonly cursor: LogCursor
  readonly offset: number
  readonly lastEvent: EventPlace | undefined
}

export interface ReadAgentOptions {
  /** Go on without the lines that are lost, if anything can be made of the rest. Default: they are refused. */
  readonly acceptDamage?: boolean
  /** Byte to stop at. Default: the end of the file. */
  readonly until?: number
}

/**
 * Reads a log. Rejects with a `StorageError` when it cannot be read, and with an `EngineError` when lines are lost
 * (`damaged-log`) or those that are there make no sense (`impossible-log`, `newer-machine`).
 */
export async function readAgent(
  storage: Storage,
  path: string,
  options: ReadAgentOptions = {},
): Promise<ReadAgent> {
  const conversation = LazyConversation.whole(createConversation())
  const digest = new LogDigest()
  const lastEvent = undefined
  const beginning = { state: UNBORN, digest, conversation, cursor: START_CURSOR, offset: 0, lastEvent }
  return readOn(storage, path, beginning, options)
}

/** Why a snapshot that fits its log is of no use all the same: its values are none of ours. */
export class UnusableSnapshot extends Error {
  override readonly name = 'UnusableSnapshot'
}

/** The same from a snapshot: reads only what follows it. Throws {@link UnusableSnapshot}, too. */
export async function readAgentFrom(storage: Storage, path: string, snapshot: Snapshot): Promise<ReadAgent> {
  const { offset, cursor } = snapshot
  const conversation = LazyConversation.unread(() => readVerified(storage, path, snapshot))
  const lastEvent = { ...snapshot.lastEvent, to: offset }
  const beginning = { ...(await revive(storage, path, snapshot)), conversation, cursor, offset, lastEvent }
  return readOn(storage, path, beginning, {})
}

async function readOn(
  storage: Storage,
  path: string,
  { digest, conversation, cursor, offset, ...begun }: Beginning,
  { until, acceptDamage = false }: ReadAgentOptions,
): Promise<ReadAgent> {
  const reader = createLogReader(storage, path, { cursor, offset, ...(until !== undefined && { until }) })
  const damage: DamageItem[] = []
  let { state, lastEvent } = begun
  let events = 0
  let impossible: unknown
  for await (const item of reader.items) {
    if (item.kind === 'damage') damage.push(item)
    if (item.kind !== 'event') continue
    if (impossible === undefined) {
      try {
        state = foldRecorded(state, item.recorded, path)
      } catch (error) {
        // Read on: over a gap nothing makes sense, and the gap is what has to be told.
        impossible = error
      }
    }
    digest.push(item.recorded, item)
    conversation.push(item.recorded)
    lastEvent = { seq: item.recorded.seq, from: item.from, to: item.to }
    events += 1
  }
  if (!acceptDamage) refuseLosses(path, { damage, digest })
  if (impossible !== undefined) throw impossible
  return {
    state,
    digest,
    conversation,
    cursor: reader.cursor,
    offset: reader.nextLineAt,
    lastEvent,
    damage,
    events,
  }
}

function foldRecorded(state: AgentState, { seq, event }: Recorded, path: string): AgentState {
  if (event.type === 'run.started' && event.machine > MACHINE_VERSION) {
    throw new EngineError(
      'newer-machine',
      `${path}, line ${seq + 1}: this run was recorded by a newer Troupe (machine version ${event.machine}, ` +
        `this one knows ${MACHINE_VERSION}). Resume it with the version that wrote it, or a newer one.`,
    )
  }
  try {
    return foldAgent(state, event)
  } catch (error) {
    throw new EngineError(
      'impossible-log',
      `${path}, line ${seq + 1}: ${event.type} cannot follow what is before it (${messageOf(error)}). ` +
        `"troupe replay ${path}" shows the state there.`,
      error,
    )
  }
}

// ── from a snapshot ──────────────────────────────────────────────────────────────────────────────────────

async function revive(
  storage: Storage,
  path: string,
  { birth, run, digest }: Snapshot,
): Promise<Pick<Beginning, 'state' | 'digest'>> {
  const value = check(DigestValue, digest)
  if (!value.ok) throw new UnusableSnapshot(`its digest has another shape: ${value.detail}`)
  const state: AgentState = { birth, run: run === undefined ? undefined : revived(run) }
  const { lastReply, report } = value.value
  const hasOpenCalls = state.run !== undefined && state.run.context.calls.length > 0
  const replies = {
    // Two small reads at most, so that what an open call asks for and what a run reports come from the log.
    lastReply: hasOpenCalls ? await readReply(storage, path, lastReply) : undefined,
    report: await readReply(storage, path, report),
  }
  return { state, digest: LogDigest.from(value.value, replies) }
}

function revived(run: unknown): AgentState['run'] {
  try {
    return reviveRun(run)
  } catch (error) {
    throw new UnusableSnapshot(`its run cannot be restored: ${messageOf(error)}`)
  }
}

async function readReply(
  storage: Storage,
  path: string,
  place: ReplyPlace | undefined,
): Promise<AgentEventOf<'reply.received'> | undefined> {
  if (place === undefined) return undefined
  const { from, to, seq, run } = place
  const cursor: LogCursor = { ...START_CURSOR, seq, run }
  for await (const item of createLogReader(storage, path, { offset: from, until: to, cursor }).items) {
    const event = item.kind === 'event' && item.to === to ? item.recorded.event : undefined
    if (event?.type === 'reply.received' && event.seq === seq) return event
  }
  throw new UnusableSnapshot(`the log has no reply at bytes ${from}–${to}`)
}

/** The conversation up to a snapshot, after the whole log up to there has been found to come to that snapshot. */
async function readVerified(storage: Storage, path: string, snapshot: Snapshot): Promise<Conversation> {
  const read = await readAgent(storage, path, { until: snapshot.offset })
  const conversation = await read.conversation.load()
  const found = { ...resultOf(read), birth: read.state.birth, offset: read.offset, cursor: read.cursor }
  const { run, digest, birth, offset, cursor } = snapshot
  if (isDeepStrictEqual(plain(found), plain({ run, digest, birth, offset, cursor }))) return conversation
  throw new EngineError(
    'snapshot-differs',
    `${path} does not come to what its snapshot says: somebody has changed the log in front of byte ${snapshot.offset}. ` +
      'The snapshot is thrown away and nothing was sent; resume the session again to go on from the log.',
  )
}

/** What of an agent goes into a snapshot. */
export function resultOf({ state, digest }: Pick<ReadAgent, 'state' | 'digest'>): {
  readonly run: unknown
  readonly digest: unknown
} {
  return { run: state.run && persistRun(state.run), digest: digest.value() }
}

/** As JSON has it: members that are undefined are none. */
const plain = <T extends { readonly cursor: LogCursor }>(value: T): unknown =>
  JSON.parse(
    JSON.stringify({ ...value, cursor: { ...value.cursor, openCalls: [...value.cursor.openCalls] } }),
  )
