/**
 * What this engine made in a repository: one file for each worktree, in the repository's own git folder. It is written
 * before anything is made and deleted after the last of it is gone, so whatever has no record is not ours.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { folderOfTree } from '../../definitions/worktrees/names.ts'

/** A record as it stands in its file. */
const WorktreeRecord = z.looseObject({
  version: z.literal(1),
  name: z.string(),
  path: z.string(),
  branch: z.string(),
  base: z.string(),
  agentId: z.string(),
  /** ISO 8601. */
  createdAt: z.string(),
  /** The process that made it or works in it. */
  owner: z.looseObject({}),
  /**
   * `creating`: nobody has been handed it. `ready`: somebody works in it, or did. `removing`: it was decided that
   * nothing would be lost.
   */
  state: z.enum(['creating', 'ready', 'removing']),
  /** With `removing`: what its branch was at then. A branch that has moved since is left alone. */
  tip: z.string().optional(),
  /** No sweep removes it. */
  keep: z.literal(true).optional(),
  /** Its own git folder, absolute, once there is one. */
  gitDir: z.string().optional(),
  /** Links that were put into it, and where they lead. */
  links: z.array(z.object({ path: z.string(), target: z.string() })),
  /** Files that were copied into it, and the SHA-256 of their content then. */
  copies: z.array(z.object({ path: z.string(), hash: z.string() })),
})
export type WorktreeRecord = z.infer<typeof WorktreeRecord>

/** Records of one repository. All calls are synchronous and small. */
export interface WorktreeRecords {
  /** For the lock of the repository. */
  readonly lockPath: string
  /** Undefined: there is none, or it cannot be read, which {@link all} tells. */
  read(name: string): WorktreeRecord | undefined
  write(record: WorktreeRecord): void
  delete(name: string): void
  /** Oldest first. `unreadable`: paths of files that are no records; they are left alone. */
  all(): { readonly records: readonly WorktreeRecord[]; readonly unreadable: readonly string[] }
}

/** The records of the repository with this common git folder. */
export function openRecords(commonDir: string): WorktreeRecords {
  const home = join(commonDir, 'troupe')
  const folder = join(home, 'worktrees')
  const fileOf = (name: string): string => join(folder, `${folderOfTree(name)}.json`)
  return {
    lockPath: join(home, 'lock'),
    read: (name) => readRecord(fileOf(name)),
    write(record) {
      mkdirSync(folder, { recursive: true })
      const path = fileOf(record.name)
      // Whole or not at all. Writers hold the lock, or own the record.
      const temporary = `${path}.${process.pid}.tmp`
      writeFileSync(temporary, `${JSON.stringify(record)}\n`, { flush: true })
      renameSync(temporary, path)
    },
    delete(name) {
      rmSync(fileOf(name), { force: true })
    },
    all() {
      const files = listed(folder)
        .filter((file) => file.endsWith('.json'))
        .map((file) => join(folder, file))
      const read = files.map((path) => ({ path, record: readRecord(path) }))
      return {
        records: read
          .flatMap(({ record }) => (record === undefined ? [] : [record]))
          .sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)),
        unreadable: read.flatMap(({ path, record }) => (record === undefined ? [path] : [])),
      }
    },
  }
}

function readRecord(path: string): WorktreeRecord | undefined {
  try {
    return WorktreeRecord.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data
  } catch {
    return undefined
  }
}

function listed(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
