/** Logs for tests: written with the real encoder, read with the real decoder, ids and times by counting. */
import type { Encoded, LogCursor, LogIdentity, LogItem } from '../../src/journal/codec.ts'
import { createDecoder, encode, START_CURSOR } from '../../src/journal/codec.ts'
import type { EventDraft, Recorded } from '../../src/machines/agent/events.ts'
import { AgentId, SessionId } from '../../src/machines/ids.ts'

export const SESSION = SessionId.parse('5e551011-0000-4000-8000-000000000001')

/** A child's identity. */
export const CHILD: LogIdentity = {
  sessionId: SESSION,
  agentId: AgentId.parse('a0000000000000001'),
  isSidechain: true,
  cwd: '/project',
  version: '0.1.0',
  gitBranch: 'main',
}

/** The root's identity. */
export const ROOT: LogIdentity = { ...CHILD, isSidechain: false }

/** UUIDs that count up. */
export function countingUuid(from = 0): () => string {
  let count = from
  return () => {
    count += 1
    return `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`
  }
}

export interface WrittenLog {
  readonly text: string
  readonly recorded: readonly Recorded[]
  readonly cursor: LogCursor
  /** Each event's part of the text. */
  readonly parts: readonly string[]
}

/** Encodes drafts one after the other, a second apart. */
export function writeLog(
  drafts: readonly EventDraft[],
  { identity = CHILD, cursor = START_CURSOR, uuid = countingUuid(cursor.seq) } = {},
): WrittenLog {
  const recorded: Recorded[] = []
  const parts: string[] = []
  let at = Date.UTC(2026, 0, 1)
  let next = cursor
  for (const draft of drafts) {
    const encoded: Encoded = encode(identity, next, draft, at, uuid)
    recorded.push(encoded.recorded)
    parts.push(encoded.text)
    next = encoded.cursor
    at += 1_000
  }
  return { text: parts.join(''), recorded, cursor: next, parts }
}

/** Decodes a whole text, line by line. */
export function readText(
  text: string | Uint8Array,
  decoder = createDecoder(),
): { readonly items: readonly LogItem[]; readonly events: readonly Recorded[]; readonly cursor: LogCursor } {
  const bytes = Buffer.from(text)
  const items: LogItem[] = []
  for (let from = 0; from < bytes.length; ) {
    const feed = bytes.indexOf(0x0a, from)
    const to = feed < 0 ? bytes.length : feed + 1
    items.push(...decoder.push(bytes.subarray(from, feed < 0 ? to : feed), { from, to }))
    from = to
  }
  items.push(...decoder.end())
  return { items, events: eventsIn(items), cursor: decoder.cursor }
}

export function eventsIn(items: readonly LogItem[]): readonly Recorded[] {
  return items.flatMap((item) => (item.kind === 'event' ? [item.recorded] : []))
}

/** The lines of a text as objects. */
export function linesOf(text: string): readonly Readonly<Record<string, unknown>>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}
