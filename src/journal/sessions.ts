/**
 * The sessions of a project, found by looking at the first and last bytes of their logs: a list of a thousand long
 * sessions reads no log whole.
 */
import { join } from 'node:path'
import { SessionId } from '../machines/ids.ts'
import { isObject, parseLine } from './line.ts'
import { projectFolder, sessionPaths } from './paths.ts'
import type { FileStat, Storage } from './storage.ts'
import { StorageError } from './storage.ts'

/** Bytes that are read at each end of a log. */
const END_BYTES = 64 * 1024
/** Characters of a first prompt that are kept. */
const PROMPT_CHARS = 1_000

export interface SessionSummary {
  readonly sessionId: SessionId
  /** The root agent's log. */
  readonly path: string
  /** At most 1,000 characters; undefined when no prompt was found near the log's beginning. */
  readonly firstPrompt: string | undefined
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly lastAt: number
  /** Agents that have a log, the root included. */
  readonly agents: number
  /** Of the root's log. */
  readonly bytes: number
  /** Why the root's log could not be read; the rest is what can be said without it. */
  readonly unreadable?: string
}

/** More than one session begins like this. */
export class AmbiguousSessionError extends Error {
  override readonly name = 'AmbiguousSessionError'
  readonly code = 'ambiguous-session'
  readonly candidates: readonly SessionId[]

  constructor(prefix: string, candidates: readonly SessionId[]) {
    super(
      `${candidates.length} sessions begin with "${prefix}" (${candidates.slice(0, 3).join(', ')}${candidates.length > 3 ? ', …' : ''}); give more of the id`,
    )
    this.candidates = candidates
  }
}

/** All sessions of a project (its real path), newest first. */
export async function listSessions(
  storage: Storage,
  home: string,
  projectPath: string,
): Promise<readonly SessionSummary[]> {
  const summaries: SessionSummary[] = []
  for (const { id, stat } of await findLogs(storage, home, projectPath)) {
    summaries.push(await summariseAnyway(storage, home, projectPath, id, stat))
  }
  return summaries.sort((a, b) => b.lastAt - a.lastAt || (a.sessionId < b.sessionId ? -1 : 1))
}

/**
 * The session with this id, or the only one whose id begins so. Throws {@link AmbiguousSessionError} when several
 * do; undefined when none does.
 */
export async function findSession(
  storage: Storage,
  home: string,
  projectPath: string,
  idOrPrefix: string,
): Promise<SessionSummary | undefined> {
  const wanted = idOrPrefix.toLowerCase()
  if (wanted === '') return undefined
  const logs = await findLogs(storage, home, projectPath, wanted)
  const found = logs.find(({ id }) => id === wanted) ?? logs[0]
  if (found === undefined) return undefined
  if (logs.length > 1 && found.id !== wanted) {
    throw new AmbiguousSessionError(
      idOrPrefix,
      logs.map(({ id }) => id),
    )
  }
  return summarise(storage, home, projectPath, found.id, found.stat)
}

/** The session that was written to last. */
export async function latestSession(
  storage: Storage,
  home: string,
  projectPath: string,
): Promise<SessionSummary | undefined> {
  const logs = await findLogs(storage, home, projectPath)
  const latest = logs.reduce<(typeof logs)[number] | undefined>(
    (best, log) => (best === undefined || log.stat.modifiedAt > best.stat.modifiedAt ? log : best),
    undefined,
  )
  return latest === undefined ? undefined : summarise(storage, home, projectPath, latest.id, latest.stat)
}

interface FoundLog {
  readonly id: SessionId
  readonly stat: FileStat
}

async function findLogs(
  storage: Storage,
  home: string,
  projectPath: string,
  prefix = '',
): Promise<readonly FoundLog[]> {
  const folder = projectFolder(home, projectPath)
  const found: FoundLog[] = []
  for (const name of await storage.list(folder)) {
    if (!name.endsWith('.jsonl') || !name.startsWith(prefix)) continue
    const id = SessionId.safeParse(name.slice(0, -'.jsonl'.length))
    const stat = id.success ? await storage.stat(join(folder, name)) : undefined
    if (id.success && stat !== undefined) found.push({ id: id.data, stat })
  }
  return found
}

/** One log that cannot be read must not hide the others. */
async function summariseAnyway(...args: Parameters<typeof summarise>): Promise<SessionSummary> {
  try {
    return await summarise(...args)
  } catch (error) {
    if (!StorageError.is(error)) throw error
    const [, home, projectPath, sessionId, stat] = args
    return {
      sessionId,
      path: sessionPaths(home, projectPath, sessionId).rootLog,
      firstPrompt: undefined,
      startedAt: stat.modifiedAt,
      lastAt: stat.modifiedAt,
      agents: 0,
      bytes: stat.bytes,
      unreadable: error.message,
    }
  }
}

async function summarise(
  storage: Storage,
  home: string,
  projectPath: string,
  sessionId: SessionId,
  stat: FileStat,
): Promise<SessionSummary> {
  const paths = sessionPaths(home, projectPath, sessionId)
  const head = linesOf(await readPart(storage, paths.rootLog, 0))
  const tailFrom = Math.max(0, stat.bytes - END_BYTES)
  const tail = tailFrom === 0 ? head : linesOf(await readPart(storage, paths.rootLog, tailFrom))
  const children = (await storage.list(paths.subagents)).filter((name) => /^agent-.*\.jsonl$/.test(name))
  return {
    sessionId,
    path: paths.rootLog,
    firstPrompt: firstPromptIn(head),
    startedAt: firstTime(head) ?? stat.modifiedAt,
    lastAt: firstTime(tail.toReversed()) ?? stat.modifiedAt,
    agents: children.length + 1,
    bytes: stat.bytes,
  }
}

async function readPart(storage: Storage, path: string, offset: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of storage.read(path, offset)) {
    parts.push(part)
    bytes += part.length
    if (bytes >= END_BYTES) break
  }
  return Buffer.concat(parts).subarray(0, END_BYTES)
}

/** The first and the last may be cut. */
const linesOf = (part: Buffer): readonly string[] => part.toString('utf8').split('\n')

/** The time of the first line that is whole and has one. */
function firstTime(lines: readonly string[]): number | undefined {
  for (const line of lines) {
    const parsed = parseLine(Buffer.from(line))
    const time = parsed.ok ? Date.parse(String(parsed.line['timestamp'])) : Number.NaN
    if (!Number.isNaN(time)) return time
  }
  return undefined
}

/** Text of the first user line that has any. */
function firstPromptIn(lines: readonly string[]): string | undefined {
  for (const line of lines) {
    if (!line.includes('"type":"user","message":{"role":"user"')) continue
    const text = promptOf(line)
    if (text !== undefined && text.trim() !== '') return text.slice(0, PROMPT_CHARS)
  }
  return undefined
}

function promptOf(line: string): string | undefined {
  const parsed = parseLine(Buffer.from(line))
  if (!parsed.ok) return cutPromptOf(line)
  const message = parsed.line['message']
  const content = isObject(message) ? message['content'] : undefined
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  const block = content.find((part: unknown) => isObject(part) && typeof part['text'] === 'string')
  return isObject(block) ? String(block['text']) : undefined
}

/** The beginning of a prompt that is longer than what was read. */
function cutPromptOf(line: string): string | undefined {
  const text = /"content":(?:\[\{"type":"text","text":)?"((?:[^"\\]|\\.){0,1000})/.exec(line)?.[1]
  if (text === undefined) return undefined
  try {
    return JSON.parse(`"${text.replace(/\\u[0-9a-f]{0,3}$/i, '')}"`)
  } catch {
    return undefined
  }
}
