/**
 * Lines into events, one line at a time.
 *
 * Owns: what a log says, and where it stands after it. Does not own: files; how lines are cut from bytes is in
 * `read-log.ts`, what one line says alone is in `meaning.ts`.
 *
 *   D1  Whatever the bytes are, reading goes on after them. Nothing is lost silently: a line is part of an event, or
 *       it is reported as foreign, abandoned or damaged, with its byte offsets.
 *   D2  A reply counts with its last line. Lines of one that was cut off are abandoned: they keep their `seq`, but
 *       are never anybody's parent.
 *   D3  `seq` is the order. A jump is believed only when the next line goes on from it (or there is none), so that
 *       one wrong number costs one line and not all that follow.
 *   D4  Lines without `seq` are another program's: kept as foreign, and no part of the order. A line with `seq` of a
 *       type or version that is unknown here is foreign too, but counts, as a newer version of us wrote it.
 *   D5  An event is what was validated, not a copy: unknown fields are kept wherever they stand.
 */
import type { Recorded } from '../machines/agent/events.ts'
import type { ContentBlock } from '../machines/agent/messages.ts'
import type { LogCursor, LogIdentity } from './cursor.ts'
import { cursorAfter, START_CURSOR } from './cursor.ts'
import type { AssistantLine, DamageReason, LifecycleLine, LineObject, UserLine } from './line.ts'
import { parseLine } from './line.ts'
import type { LogItem, Span } from './log-items.ts'
import { eventOf, meaningOf, replyIn } from './meaning.ts'
import type { RawEvent, UpcasterTable } from './upcast.ts'
import { UPCASTERS } from './upcast.ts'

export interface DecoderOptions {
  /** Where the log stands before the first line that is pushed. Default: at its beginning. */
  readonly cursor?: LogCursor
  /** Byte that the first line begins with. Default 0. */
  readonly offset?: number
  readonly upcasters?: UpcasterTable
}

export interface Decoder {
  /** One line without its line feed, and the offsets of its bytes. What it completes comes back in order. */
  push(bytes: Uint8Array, span: Span): readonly LogItem[]
  /** Bytes that are no line, known without looking at them (too long). */
  damaged(reason: DamageReason, detail: string, span: Span): readonly LogItem[]
  /** There are no more lines: gives what was held back. */
  end(): readonly LogItem[]
  /** Where the log stands after all that came back so far; after `end()` it is what `encode` needs to go on. */
  readonly cursor: LogCursor
  /** Who the last conversation line says it is by; undefined before the first. */
  readonly identity: LogIdentity | undefined
}

/** A line that has a place in the order. */
interface Placed extends Span {
  readonly line: LineObject
  readonly seq: number
}

/** A reply of which some lines have come. */
interface OpenReply extends Span {
  readonly id: string
  readonly seq: number
  readonly blocks: readonly ContentBlock[]
  readonly safe: readonly boolean[]
  readonly lines: readonly string[]
  readonly parents: readonly (string | null)[]
}

/** Makes a decoder for one log. */
export function createDecoder(options: DecoderOptions = {}): Decoder {
  const table = options.upcasters ?? UPCASTERS
  let cursor = options.cursor ?? START_CURSOR
  let identity: LogIdentity | undefined
  let agentId: LogIdentity['agentId'] | undefined
  let reply: OpenReply | undefined
  let held: Placed | undefined
  /** Offset behind the last line that had its place. */
  let placedUpTo = options.offset ?? 0
  let items: LogItem[] = []

  const damage = (reason: DamageReason, detail: string, { from, to }: Span, missing: number): void => {
    items.push({ kind: 'damage', reason, detail, from, to, missing })
  }

  const abandonReply = (): void => {
    if (reply === undefined) return
    items.push({ kind: 'abandoned', lines: reply.lines.length, from: reply.from, to: reply.to })
    reply = undefined
  }

  /** Its place is used up, but it says nothing. */
  const spoil = (at: Placed, detail: string, reason: DamageReason = 'schema'): void => {
    abandonReply()
    damage(reason, detail, at, 1)
    cursor = { ...cursor, seq: at.seq + 1 }
  }

  const keepForeign = (at: Placed): void => {
    items.push({ kind: 'foreign', seq: at.seq, line: at.line, from: reply?.from ?? at.from, to: at.to })
    reply = undefined
    const { uuid } = at.line
    cursor = { ...cursor, seq: at.seq + 1, lastLine: typeof uuid === 'string' ? uuid : cursor.lastLine }
  }

  /** Takes the event of one line, or of the reply whose last line this is. */
  const take = (at: Placed, raw: RawEvent, source: LifecycleLine | UserLine | AssistantLine): void => {
    const checked = eventOf(raw, source.v ?? 1, table)
    if (checked.kind === 'broken') spoil(at, checked.detail)
    else if (checked.kind === 'foreign') keepForeign(at)
    else {
      const { event } = checked
      const ownLine = typeof source.uuid === 'string' ? [source.uuid] : []
      const ownParent = typeof source.parentUuid === 'string' ? source.parentUuid : null
      const recorded: Recorded = {
        seq: reply?.seq ?? at.seq,
        at: Date.parse(source.timestamp),
        event,
        lines: reply?.lines ?? ownLine,
      }
      items.push({
        kind: 'event',
        recorded,
        parents: reply?.parents ?? ownLine.map(() => ownParent),
        from: reply?.from ?? at.from,
        to: at.to,
      })
      cursor = cursorAfter(cursor, recorded)
      reply = undefined
      if (event.type === 'agent.spawned') agentId = event.agentId
    }
  }

  const takeBlock = (at: Placed, line: AssistantLine): void => {
    const index = line.troupe?.block ?? 0
    if (index === 0) abandonReply()
    else if (reply === undefined || reply.blocks.length !== index || reply.id !== line.message.id) {
      spoil(at, `it is block ${index} of reply ${line.message.id}, whose beginning is missing`, 'half-reply')
      return
    }
    const grown: OpenReply = {
      id: line.message.id,
      seq: reply?.seq ?? at.seq,
      blocks: [...(reply?.blocks ?? []), ...line.message.content],
      safe: [...(reply?.safe ?? []), line.troupe?.safe === true],
      lines: [...(reply?.lines ?? []), line.uuid],
      parents: [...(reply?.parents ?? []), line.parentUuid],
      from: reply?.from ?? at.from,
      to: at.to,
    }
    reply = grown
    if (line.message.stop_reason === null) cursor = { ...cursor, seq: at.seq + 1 }
    else {
      remember(line)
      take(at, replyIn(line, grown, cursor.run), line)
    }
  }

  const remember = (line: UserLine | AssistantLine): void => {
    const agent = line.agentId ?? agentId
    if (agent === undefined) return
    const { sessionId, isSidechain, cwd, version, gitBranch } = line
    identity = {
      sessionId,
      agentId: agent,
      isSidechain,
      cwd,
      version,
      ...(gitBranch !== undefined && { gitBranch }),
    }
  }

  const read = (at: Placed): void => {
    const meaning = meaningOf(at.line)
    placedUpTo = at.to
    if (meaning.kind === 'block') {
      takeBlock(at, meaning.line)
      return
    }
    abandonReply()
    switch (meaning.kind) {
      case 'foreign':
        keepForeign(at)
        break
      case 'broken':
        spoil(at, meaning.detail)
        break
      case 'message':
        remember(meaning.line)
        take(at, meaning.raw, meaning.line)
        break
      case 'lifecycle':
        take(at, meaning.raw, meaning.line)
        break
    }
  }

  const readBehindGap = (at: Placed): void => {
    const missing = at.seq - cursor.seq
    abandonReply()
    damage(
      'gap',
      `${missing} line(s) missing before line ${at.seq}`,
      { from: placedUpTo, to: at.from },
      missing,
    )
    read(at)
  }

  const place = (at: Placed): void => {
    const jump = held
    held = undefined
    if (jump !== undefined) {
      if (at.seq === cursor.seq || at.seq === cursor.seq + 1) {
        // The order goes on as if the held line stood at its place: no lines are missing, its number is wrong.
        abandonReply()
        damage('schema', `seq: expected ${cursor.seq}, found ${jump.seq}`, jump, at.seq - cursor.seq)
        cursor = { ...cursor, seq: at.seq }
        placedUpTo = jump.to
      } else readBehindGap(jump)
    }
    if (at.seq === cursor.seq) read(at)
    else if (at.seq > cursor.seq) held = at
    else damage('repeat', `line ${at.seq} was there before; expected ${cursor.seq}`, at, 0)
  }

  const drain = (): readonly LogItem[] => {
    const drained = items
    items = []
    return drained
  }

  return {
    push: (bytes, span) => {
      const parsed = parseLine(bytes)
      if (!parsed.ok) damage(parsed.reason, parsed.detail, span, 0)
      else {
        const { line } = parsed
        const { seq } = line
        if (seq === undefined)
          items.push({ kind: 'foreign', seq: undefined, line, from: span.from, to: span.to })
        else if (!isPosition(seq)) damage('schema', 'seq: it is not a position', span, 0)
        else place({ line, seq, from: span.from, to: span.to })
      }
      return drain()
    },
    damaged: (reason, detail, span) => {
      damage(reason, detail, span, 0)
      return drain()
    },
    end: () => {
      const jump = held
      held = undefined
      if (jump !== undefined) readBehindGap(jump)
      abandonReply()
      return drain()
    },
    get cursor() {
      return cursor
    },
    get identity() {
      return identity
    },
  }
}

/**
 * No log gets this long; a damaged number does. Were it believed, the positions of what is appended behind it would be
 * beyond the whole numbers that can be told apart, and would be lost to the next reader.
 */
const MAX_POSITION = 2 ** 48

const isPosition = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MAX_POSITION
