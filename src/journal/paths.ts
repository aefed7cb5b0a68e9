/**
 * Where the files of a session are. Pure: names only, nothing is looked up or created.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { AgentId, BlobHash, SessionId } from '../machines/ids.ts'

/** Longest slug without a hash. Together with the hash it stays below the 255 bytes of a file name. */
const MAX_SLUG_LENGTH = 200

/**
 * The folder name of a project: every character outside `[A-Za-z0-9]` becomes `-`. It cannot be turned back into
 * a path. A long one is cut to 200 characters plus a hash; readers match such a folder by its first 200.
 *
 * Takes the real path: two names of one folder (a symlink and its target) must give one slug.
 */
export function projectSlug(projectPath: string): string {
  const path = projectPath.normalize('NFC')
  const slug = path.replace(/[^A-Za-z0-9]/g, '-')
  return slug.length <= MAX_SLUG_LENGTH ? slug : `${slug.slice(0, MAX_SLUG_LENGTH)}-${shortHash(path)}`
}

/** 64 bits of the path's SHA-256 in base 36: up to 13 characters. */
function shortHash(text: string): string {
  return createHash('sha256').update(text).digest().readBigUInt64BE().toString(36)
}

/** The folder that holds the sessions of a project. */
export function projectFolder(home: string, projectPath: string): string {
  return join(home, 'projects', projectSlug(projectPath))
}

/** Which of the two snapshot files of a log. */
export type SnapshotSlot = 0 | 1

/** The files of one session. All absolute if `home` is. */
export interface SessionPaths {
  /** `projects/<slug>`: the sessions of the project. */
  readonly folder: string
  /** Everything of this session but the root's log. */
  readonly sessionFolder: string
  /** Log of the root agent. */
  readonly rootLog: string
  /** Folder of the children's logs, however deep they are in the tree. */
  readonly subagents: string
  agentLog(agentId: AgentId): string
  agentMeta(agentId: AgentId): string
  blob(hash: BlobHash): string
  /** Derived files; may be deleted at any time. */
  readonly snapshots: string
  /** Two files per log, written in turn: a torn one leaves the one before. */
  snapshot(agent: AgentId | 'root', slot: SnapshotSlot): string
  readonly lock: string
}

/** The paths of a session under `home` (`~/.troupe`). `projectPath` is a real path, as for {@link projectSlug}. */
export function sessionPaths(home: string, projectPath: string, sessionId: SessionId): SessionPaths {
  const folder = projectFolder(home, projectPath)
  const sessionFolder = join(folder, sessionId)
  const subagents = join(sessionFolder, 'subagents')
  return {
    folder,
    sessionFolder,
    rootLog: `${sessionFolder}.jsonl`,
    subagents,
    agentLog: (agentId) => join(subagents, `agent-${agentId}.jsonl`),
    agentMeta: (agentId) => join(subagents, `agent-${agentId}.meta.json`),
    blob: (hash) => join(sessionFolder, 'blobs', hash),
    snapshots: join(sessionFolder, 'snapshots'),
    snapshot: (agent, slot) =>
      join(sessionFolder, 'snapshots', `${agent === 'root' ? agent : `agent-${agent}`}.${slot}`),
    lock: join(sessionFolder, 'lock'),
  }
}
