/**
 * What a branch shares with its base: the base's lines up to one position, read where they are.
 *
 *   R1  The base is only ever read. Of a foreign one not even the lock is looked at.
 *   R2  A base that is gone, or whose last shared line is another one now, is an error: going on without would change
 *       what the model has said.
 */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { AgentEventOf, Base, Recorded } from '../../machines/agent/events.ts'
import type { AgentState } from '../../machines/agent/fold.ts'
import { foldAgent, UNBORN } from '../../machines/agent/fold.ts'
import type { BlobHash } from '../../machines/ids.ts'
import type { EventEntry } from '../log-entry.ts'
import { lastLineOf } from '../log-entry.ts'
import type { Conversation } from '../projections/conversation.ts'
import { createConversation } from '../projections/conversation.ts'
import { inheritedConversation } from '../projections/inherited.ts'
import { readEntries } from '../read-entries.ts'
import type { Storage } from '../storage.ts'
import { StorageError } from '../storage.ts'

/** Why a branch cannot have what it shares. Each is explained in `docs/errors.md`. */
export type BaseErrorCode =
  | 'bad-position'
  /** The line that the branch goes on from is another one now. */
  | 'changed-base'
  /** The base's file is gone. */
  | 'missing-base'

/** A branch that cannot be made, or has lost its base. */
export class BaseError extends Error {
  override readonly name = 'BaseError'
  readonly code: BaseErrorCode
  readonly path: string

  constructor(code: BaseErrorCode, path: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.path = path
  }

  static is(value: unknown): value is BaseError {
    return value instanceof Error && value.name === 'BaseError'
  }
}

/** The shared part of a branch, read. */
export interface SharedPart {
  /** Names it in the first event of a branch that goes on from here. */
  readonly base: Base
  /** The agent there. */
  readonly state: AgentState
  /** The events of the base itself, without those that it shares with a base of its own. */
  readonly events: readonly Recorded[]
  /** The whole conversation up to there. Fork it; never push to it. */
  readonly conversation: Conversation
  /** Shared with the base's own base; undefined when the base is no branch. */
  readonly below: SharedPart | undefined
}

/**
 * Reads a log up to a position, so that a branch can go on from it. Any position of the log will do: a reply counts
 * with its last line, and a call that is open there is told as interrupted by the requests of the branch. `at`
 * undefined: all of it. Rejects with a {@link BaseError} (`bad-position`, `missing-base`, `changed-base`).
 */
export async function shareLog(storage: Storage, path: string, at?: number): Promise<SharedPart> {
  return share(storage, path, at, undefined, [])
}

/** Reads what a branch shares, and checks that it is still what it was. `ownPath`: the log of the branch. */
export async function loadBase(storage: Storage, base: Base, ownPath: string): Promise<SharedPart> {
  return load(storage, base, ownPath, [])
}

async function load(
  storage: Storage,
  base: Base,
  ownPath: string,
  above: readonly string[],
): Promise<SharedPart> {
  const path = await findBase(storage, base, ownPath)
  const shared = await share(storage, path, base.seq, base.line, above).catch((error: unknown) => {
    // It has become shorter.
    if (BaseError.is(error) && error.code === 'bad-position') return undefined
    throw error
  })
  if (shared?.base.seq === base.seq && shared.base.hash === base.hash) return shared
  throw new BaseError(
    'changed-base',
    path,
    `${path} is not what it was when the session of ${ownPath} branched off at position ${base.seq}: ` +
      'that line is another one now. Restore the file; nothing was changed',
  )
}

/** Where it was, or beside the branch: the folder of sessions may have moved. */
async function findBase(storage: Storage, base: Base, ownPath: string): Promise<string> {
  const beside = join(dirname(ownPath), `${base.sessionId}.jsonl`)
  for (const path of [base.path, beside]) if (await storage.exists(path)) return path
  throw new BaseError(
    'missing-base',
    base.path,
    `the session of ${ownPath} goes on from position ${base.seq} of ${base.path}, which is not there, nor is ${beside}. ` +
      'Put the file back: a branch shares its beginning with its base, it has no copy',
  )
}

async function share(
  storage: Storage,
  path: string,
  at: number | undefined,
  leaf: string | undefined,
  above: readonly string[],
): Promise<SharedPart> {
  if (above.includes(path)) {
    throw new BaseError('changed-base', path, `${path} is a branch of itself; restore it from a backup`)
  }
  const { entries, state } = await readUpTo(storage, path, at, leaf)
  const last = entries.at(-1)
  const { birth, run } = state
  if (last === undefined || birth === undefined) {
    throw new BaseError('bad-position', path, `${path} has no agent to branch off from`)
  }
  if (at !== undefined && at > lastLineOf(last.recorded) && !(await hasMore(storage, path, at, leaf))) {
    throw new BaseError(
      'bad-position',
      path,
      `${path} has no position ${at}: its last is ${lastLineOf(last.recorded)}. Positions are shown by troupe log --json`,
    )
  }
  const below = birth.base === undefined ? undefined : await load(storage, birth.base, path, [...above, path])
  const conversation =
    below?.conversation.fork(below.conversation.length) ??
    (await beginningOf(storage, path, birth, [...above, path]))
  const events = entries.map(({ recorded }) => recorded)
  for (const recorded of events) conversation.push(recorded)
  const line = last.source
  const isForeign = line !== undefined
  const base: Base = {
    sessionId: await sessionOf(storage, path, isForeign),
    path,
    format: isForeign ? 'claude-code' : 'troupe',
    seq: lastLineOf(last.recorded),
    run: run?.context.run ?? birth.base?.run ?? 0,
    ...(isForeign && { line }),
    hash: await hashOf(storage, path, last),
  }
  return { base, state, events, conversation, below }
}

/** What a child has of its parent's conversation, from the parent's log in the same session; empty for all others. */
async function beginningOf(
  storage: Storage,
  path: string,
  { inherits, parent }: AgentEventOf<'agent.spawned'>,
  above: readonly string[],
): Promise<Conversation> {
  if (inherits === undefined || parent === undefined) return createConversation()
  const beside = join(dirname(path), `agent-${parent.agentId}.jsonl`)
  // Only the root's log stands outside of the folder of the others.
  const parentPath = (await storage.exists(beside)) ? beside : `${dirname(dirname(path))}.jsonl`
  const { conversation } = await share(storage, parentPath, undefined, undefined, above)
  const beginning = inheritedConversation(conversation, inherits)
  if (beginning !== undefined) return beginning
  throw new BaseError(
    'changed-base',
    parentPath,
    `${path} goes on from position ${inherits.seq} of ${parentPath}, and there is no reply; restore it from a backup`,
  )
}

async function readUpTo(
  storage: Storage,
  path: string,
  at = Number.POSITIVE_INFINITY,
  leaf: string | undefined,
): Promise<{ readonly entries: readonly EventEntry[]; readonly state: AgentState }> {
  const entries: EventEntry[] = []
  let state = UNBORN
  try {
    for await (const entry of readEntries(storage, path, { leaf })) {
      if (entry.kind !== 'event') continue
      if (lastLineOf(entry.recorded) > at) break
      state = foldAgent(state, entry.recorded.event)
      entries.push(entry)
    }
  } catch (error) {
    if (!StorageError.is(error) || error.code !== 'not-found') throw error
    throw new BaseError('missing-base', path, `there is no log at ${path} to branch off from`, error)
  }
  return { entries, state }
}

/** Whether there is anything at the position, or behind it: the inside of a reply counts as the place before it. */
async function hasMore(
  storage: Storage,
  path: string,
  at: number,
  leaf: string | undefined,
): Promise<boolean> {
  for await (const entry of readEntries(storage, path, { leaf })) {
    if (entry.kind === 'event' && lastLineOf(entry.recorded) >= at) return true
  }
  return false
}

async function sessionOf(storage: Storage, path: string, isForeign: boolean): Promise<string> {
  const name = path.split(/[\\/]/).at(-1) ?? path
  if (!isForeign) return name.replace(/\.jsonl$/, '')
  for await (const bytes of storage.read(path)) {
    const found = /"sessionId":\s*"([^"]+)"/.exec(Buffer.from(bytes).toString('utf8'))
    if (found?.[1] !== undefined) return found[1]
  }
  return name.replace(/\.jsonl$/, '')
}

/** The bytes of an event's lines, without the line feed at the end: the last line of a file may lack it. */
async function hashOf(storage: Storage, path: string, { offset, to }: EventEntry): Promise<BlobHash> {
  const length = (to ?? offset) - offset
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of storage.read(path, offset)) {
    parts.push(part)
    bytes += part.length
    if (bytes >= length) break
  }
  const text = Buffer.concat(parts).subarray(0, length)
  const end = text.at(-1) === 0x0a ? text.length - 1 : text.length
  // A SHA-256 in hexadecimal is what the brand stands for.
  return createHash('sha256').update(text.subarray(0, end)).digest('hex') as BlobHash
}
