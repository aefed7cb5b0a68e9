/**
 * Transcripts of Claude Code, read as logs. They are only ever read: their writer does not know our lock.
 *
 * What is kept: prompts, replies, results, sub-agents. What is not: everything for display only, and what a compaction
 * has replaced, as in the conversation that its own program would go on with.
 */
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import { AgentId, type SessionId } from '../../machines/ids.ts'
import { isObject } from '../line.ts'
import type { LogEntry } from '../log-entry.ts'
import type { LogItem } from '../log-items.ts'
import type { Storage } from '../storage.ts'
import { StorageError } from '../storage.ts'
import type { LiveBranch } from './live-branch.ts'
import { liveBranch } from './live-branch.ts'
import type { SourceLine } from './source-line.ts'
import { sourceLine } from './source-line.ts'
import type { TranslatedEvent } from './translate.ts'
import { planOf, translate } from './translate.ts'

/** A transcript, as far as it can be told. */
export interface Transcript {
  readonly sessionId: string
  readonly agentId: AgentId
  readonly events: readonly TranslatedEvent[]
  /** The events, and a remark for everything that was left out. */
  readonly entries: readonly LogEntry[]
  readonly order: LiveBranch['order']
  /** Lines of its conversation that are not on the live branch. */
  readonly left: number
  /** What could not be told, by reason. */
  readonly skipped: Readonly<Record<string, number>>
}

/**
 * Translates what the decoder found in a file that has nothing of ours. Undefined when it has no conversation either.
 * Throws a `StorageError` when the file beside it, which says what kind of agent it is, cannot be read.
 */
export async function readTranscript(
  storage: Storage,
  path: string,
  items: readonly LogItem[],
  leaf?: string,
): Promise<Transcript | undefined> {
  const foreign = items.filter((item) => item.kind === 'foreign')
  const all = foreign.flatMap((item, i) => sourceLine(item, i) ?? [])
  const branch = liveBranch(all, leaf)
  const [first] = branch.lines
  if (first === undefined) return undefined
  const sessionId = first.sessionId ?? basename(path, '.jsonl')
  const agentId = agentIdOf(path, first)
  const birth = await birthOf(storage, path, agentId, branch.lines)
  const identity = {
    // Never written: the encoder is only asked where events stand.
    sessionId: sessionId as SessionId,
    agentId,
    isSidechain: first.isSidechain,
    cwd: first.cwd ?? '',
    version: '0.0.0',
  }
  const { events, skipped } = translate(branch.lines, identity, birth)
  return {
    sessionId,
    agentId,
    events,
    entries: [...remarksOf(items, all, branch, skipped), ...events.map(entry)],
    order: branch.order,
    left: branch.left,
    skipped,
  }
}

const entry = ({ recorded, source }: TranslatedEvent): LogEntry => ({
  kind: 'event',
  offset: source.from,
  to: source.to,
  recorded,
  source: source.id,
})

/** What was left out: nothing here is damage, as nothing here is ours. */
function remarksOf(
  items: readonly LogItem[],
  all: readonly SourceLine[],
  { lines, left }: LiveBranch,
  skipped: Readonly<Record<string, number>>,
): readonly LogEntry[] {
  const from = items[0]?.from ?? 0
  const unread = items.flatMap((item): LogEntry[] =>
    item.kind === 'damage' ? [{ kind: 'foreign', offset: item.from, detail: item.detail }] : [],
  )
  const torn = items.flatMap((item): LogEntry[] =>
    item.kind === 'torn' ? [{ kind: 'torn', offset: item.from, detail: 'the last line is not whole' }] : [],
  )
  const onBranch = new Set(lines)
  const known = new Set(all.map(({ from }) => from))
  const others = items.flatMap((item): LogEntry[] =>
    item.kind === 'foreign' && !known.has(item.from)
      ? [{ kind: 'foreign', offset: item.from, detail: `a line of type ${String(item.line['type'])}` }]
      : [],
  )
  const away = all.flatMap((line): LogEntry[] =>
    line.type !== 'other' && left > 0 && !onBranch.has(line)
      ? [{ kind: 'foreign', offset: line.from, detail: 'a line that is not on the live branch' }]
      : [],
  )
  const reasons = Object.entries(skipped).flatMap(([reason, count]): LogEntry[] =>
    Array.from({ length: count }, () => ({ kind: 'foreign', offset: from, detail: reason })),
  )
  return [...unread, ...others, ...away, ...reasons, ...torn]
}

/** An id of ours is kept; anything else gets one that is always the same for this file. */
function agentIdOf(path: string, { agentId, sessionId, isSidechain }: SourceLine): AgentId {
  const named = AgentId.safeParse(agentId ?? basename(path, '.jsonl').replace(/^agent-/, ''))
  if (isSidechain && named.success) return named.data
  const seed = `${sessionId ?? ''} ${isSidechain ? (agentId ?? basename(path)) : ''}`
  return AgentId.parse(`a${createHash('sha256').update(seed).digest('hex').slice(0, 16)}`)
}

async function birthOf(
  storage: Storage,
  path: string,
  agentId: AgentId,
  lines: readonly SourceLine[],
): Promise<AgentEventOf<'agent.spawned'>> {
  const isChild = lines[0]?.isSidechain === true
  const meta = isChild ? await metaBeside(storage, path) : {}
  const { agentType, description } = meta
  const model = lines.find(({ message }) => message?.model !== undefined)?.message?.model
  const kind = typeof agentType === 'string' ? agentType : isChild ? 'general-purpose' : 'main'
  const about = typeof description === 'string' ? description : isChild ? 'sub-agent' : 'main agent'
  return {
    type: 'agent.spawned',
    agentId,
    // How deep nobody says; a child's parent is named by the parent's log only.
    depth: isChild ? 1 : 0,
    plan: planOf(kind, about, model),
  }
}

/** The `meta.json` of a sub-agent. A missing or broken one is absent. */
async function metaBeside(storage: Storage, path: string): Promise<Readonly<Record<string, unknown>>> {
  const parts: Uint8Array[] = []
  try {
    for await (const part of storage.read(path.replace(/\.jsonl$/, '.meta.json'))) parts.push(part)
    const value: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'))
    return isObject(value) ? value : {}
  } catch (error) {
    if (StorageError.is(error) && error.code !== 'not-found') throw error
    return {}
  }
}
