/**
 * Snapshots: what a log comes to up to a byte, so that opening it reads only what follows. Derived, and worth nothing
 * on their own: whatever does not fit is thrown away, and the log is read from its start.
 *
 * Owns: the file of a snapshot, and whether it may be believed. Does not own: what the engine makes of a log (`digest`
 * and `run` are its values; it checks them once more), when one is written.
 *
 *   P1  A snapshot is of a moment at which everything before `offset` was durable and applied, and nothing else.
 *   P2  It is believed only as a whole: its bytes hash to what its first line says; session, agent, machine version and
 *       Troupe version are the reader's; the log is the same file, reaches at least to `offset`, and the bytes of its
 *       last event before that are those that were there.
 *   P3  No byte of a snapshot can be changed without being seen. Of the log, what is checked here is the last event
 *       before `offset`: a truncated, replaced or rewritten log is seen, and so is any edit that moves what is behind
 *       it. **Not** seen is an edit in place, of the same length, further in front; the snapshot then still tells what
 *       the log said when it was written. Who reads the conversation reads every line again and compares what it comes
 *       to with the snapshot (`engine/read-agent.ts`); the check of a whole log is `troupe replay`'s.
 *   P4  Two files per log, written in turn: a crash during the writing of one leaves the other.
 */
import { createHash } from 'node:crypto'
import * as z from 'zod'
import { AgentSpawned } from '../machines/agent/events.ts'
import { AgentId, CallId, SessionId } from '../machines/ids.ts'
import type { LogCursor } from './cursor.ts'
import { check } from './line.ts'
import type { Span } from './log-items.ts'
import type { SnapshotSlot } from './paths.ts'
import type { Storage } from './storage.ts'

/** Raised when the shape of a snapshot changes, or what its parts mean. An older one is thrown away. */
const FORMAT = 2

const Count = z.number().int().nonnegative()

const CursorData = z.strictObject({
  seq: Count,
  lastLine: z.string().nullable(),
  run: Count,
  openCalls: z.array(z.tuple([CallId, z.string()])),
})

/** The program that a snapshot is of: another one may make something else of the same log. */
const Program = z.strictObject({
  /** Version of Troupe. */
  troupe: z.string(),
  machine: z.strictObject({ id: z.string(), version: Count }),
})
export type Program = z.infer<typeof Program>

/** A snapshot as it is stored. */
const Stored = z.strictObject({
  format: z.literal(FORMAT),
  program: Program,
  sessionId: SessionId,
  agentId: AgentId,
  /** {@link FileStat.identity} of the log. */
  file: z.string().optional(),
  /** Byte right behind a line of the log: the snapshot is of everything before it. */
  offset: Count,
  /** The last event before it: its first line, the byte that this begins with, and the hash of all its bytes. */
  lastEvent: z.strictObject({ seq: Count, from: Count, sha256: z.string() }),
  cursor: CursorData,
  birth: AgentSpawned,
  run: z.unknown().optional(),
  digest: z.unknown(),
})

/** What a log comes to. `offset` is in bytes, right behind a line. */
export interface Snapshot {
  readonly program: Program
  readonly sessionId: SessionId
  readonly agentId: AgentId
  readonly offset: number
  /** The last event before it: its bytes end at `offset`. */
  readonly lastEvent: { readonly seq: number; readonly from: number }
  readonly cursor: LogCursor
  readonly birth: z.infer<typeof AgentSpawned>
  /** The run that is on or was last, as JSON: `machines/agent/persist.ts`. Undefined before the first. */
  readonly run: unknown
  /** What else the engine makes of the log, as JSON: `engine/log-digest.ts`. */
  readonly digest: unknown
}

/**
 * Writes a snapshot of a log. The log may have grown since the moment that it is of. Rejects with a `StorageError`, and
 * with an `Error` when the log is not what the snapshot says.
 */
export async function writeSnapshot(
  storage: Storage,
  paths: { readonly log: string; readonly snapshot: string },
  snapshot: Snapshot,
): Promise<void> {
  const stat = await storage.stat(paths.log)
  const { seq, from } = snapshot.lastEvent
  const lastEvent = await readSpan(storage, paths.log, { from, to: snapshot.offset })
  if (stat === undefined || lastEvent === undefined) {
    throw new Error(`${paths.log} is shorter than the ${snapshot.offset} bytes that its snapshot is of`)
  }
  const stored: z.infer<typeof Stored> = {
    ...snapshot,
    format: FORMAT,
    ...(stat.identity !== undefined && { file: stat.identity }),
    lastEvent: { seq, from, sha256: sha256(lastEvent) },
    cursor: { ...snapshot.cursor, openCalls: [...snapshot.cursor.openCalls] },
  }
  const body = JSON.stringify(stored)
  storage.writeDerived(paths.snapshot, `${sha256(body)}\n${body}`)
}

/** The newest snapshot that can be believed, and why others cannot. */
export interface FoundSnapshot {
  readonly newest: { readonly snapshot: Snapshot; readonly slot: SnapshotSlot } | undefined
  /** In words, one for each file that was thrown away. A missing or empty file is none. */
  readonly rejected: readonly string[]
}

/** What a reader knows before it looks: only a snapshot that says the same can be of any use. */
export interface Expected {
  readonly program: Program
  readonly sessionId: SessionId
  /** Undefined for a root: only its log tells. */
  readonly agentId: AgentId | undefined
}

/** Looks for a snapshot of a log in its two files. Rejects with a `StorageError` only when the log cannot be read. */
export async function findSnapshot(
  storage: Storage,
  paths: { readonly log: string; readonly snapshots: readonly [string, string] },
  expected: Expected,
): Promise<FoundSnapshot> {
  const rejected: string[] = []
  let newest: FoundSnapshot['newest']
  for (const slot of [0, 1] as const) {
    const path = paths.snapshots[slot]
    const bytes = await readWhole(storage, path)
    if (bytes.length === 0) continue
    const read = await readSnapshot(storage, paths.log, bytes, expected)
    if (!read.ok) rejected.push(`${path}: ${read.why}`)
    else if (newest === undefined || newest.snapshot.offset < read.snapshot.offset) {
      newest = { snapshot: read.snapshot, slot }
    }
  }
  return { newest, rejected }
}

/** Makes the snapshots of a log worthless. */
export function discardSnapshots(storage: Storage, paths: readonly string[]): void {
  for (const path of paths) storage.writeDerived(path, '')
}

type Read = { readonly ok: true; readonly snapshot: Snapshot } | { readonly ok: false; readonly why: string }

const no = (why: string): Read => ({ ok: false, why })

/** Every check of P2. */
async function readSnapshot(storage: Storage, log: string, bytes: Buffer, expected: Expected): Promise<Read> {
  const stored = parse(bytes)
  if (typeof stored === 'string') return no(stored)
  const { program, sessionId, agentId, offset, lastEvent, cursor, birth, run, digest } = stored
  const foreign = foreignTo(stored, expected)
  if (foreign !== undefined) return no(foreign)
  const stat = await storage.stat(log)
  if (stat === undefined || stat.bytes < offset) {
    return no(`it is of ${offset} bytes of a log that has ${stat?.bytes ?? 0}`)
  }
  if (stat.identity !== stored.file) return no('it is of another file: the log was replaced')
  const last = await readSpan(storage, log, { from: lastEvent.from, to: offset })
  if (last === undefined || sha256(last) !== lastEvent.sha256) {
    return no(`bytes ${lastEvent.from}–${offset} of the log are not those that were there`)
  }
  const openCalls = new Map(cursor.openCalls)
  return {
    ok: true,
    snapshot: {
      program,
      sessionId,
      agentId,
      offset,
      lastEvent: { seq: lastEvent.seq, from: lastEvent.from },
      cursor: { ...cursor, openCalls },
      birth,
      run,
      digest,
    },
  }
}

/** What a file holds, or in words why it is no snapshot. */
function parse(bytes: Buffer): z.infer<typeof Stored> | string {
  const feed = bytes.indexOf(0x0a)
  const body = bytes.subarray(feed + 1)
  if (bytes.subarray(0, Math.max(feed, 0)).toString('latin1') !== sha256(body)) {
    return 'it is torn or damaged: its hash is another one'
  }
  let json: unknown
  try {
    json = JSON.parse(body.toString('utf8'))
  } catch (error) {
    return `it is no JSON: ${String(error)}`
  }
  const checked = check(Stored, json)
  return checked.ok ? checked.value : `it has another shape: ${checked.detail}`
}

/** In words, in what it is somebody else's. */
function foreignTo(
  { program, sessionId, agentId, birth }: z.infer<typeof Stored>,
  expected: Expected,
): string | undefined {
  const { machine, troupe } = program
  if (machine.id !== expected.program.machine.id || machine.version !== expected.program.machine.version) {
    return `it is of machine ${machine.id} in version ${machine.version}`
  }
  if (troupe !== expected.program.troupe) return `Troupe ${troupe} has written it`
  const isOther = expected.agentId !== undefined && expected.agentId !== agentId
  if (sessionId !== expected.sessionId || isOther || birth.agentId !== agentId) {
    return `it is of agent ${agentId} in session ${sessionId}`
  }
  return undefined
}

/** A file's bytes; none where it is missing or cannot be read, as it can be made again. */
async function readWhole(storage: Storage, path: string): Promise<Buffer> {
  const parts: Uint8Array[] = []
  try {
    for await (const part of storage.read(path)) parts.push(part)
  } catch {
    return Buffer.alloc(0)
  }
  return Buffer.concat(parts)
}

/** The bytes from `from` to `to`; undefined when the file ends before, or there are none. */
async function readSpan(storage: Storage, path: string, { from, to }: Span): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = []
  let missing = to - from
  if (missing <= 0) return undefined
  for await (const part of storage.read(path, from)) {
    parts.push(part.subarray(0, missing))
    missing -= part.length
    if (missing <= 0) return Buffer.concat(parts)
  }
  return undefined
}

const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex')
