/**
 * What this engine made in a repository: one file for each worktree, in the repository's own git folder. It is written
 * before anything is made and deleted after the last of it is gone, so whatever has no record is not ours.
 *
 *   R1  A record has one writer at a time: its owner; before there is one, and when the owner is dead, whoever holds the
 *       lock of the repository.
 *   R2  It is replaced whole, through a temporary file of its own. By R1 that file's name need tell no writers apart,
 *       so what a writer that died has left is overwritten by the next one, and deleted with the record.
 *   R3  A temporary file without a record is of a first writing, which is done under the lock. Whoever finds one while
 *       he holds the lock knows that its writer is dead.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { folderOfTree } from '../../definitions/worktrees/names.ts'
import { attempt } from '../attempt.ts'
import type { WorktreePlan } from './worktrees.ts'

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

const TEMPORARY = '.tmp'

/** Records of one repository. All calls are synchronous and small. */
export interface WorktreeRecords {
  /** For the lock of the repository. */
  readonly lockPath: string
  /** Undefined: there is none, or it cannot be read, which {@link all} tells. */
  read(name: string): WorktreeRecord | undefined
  write(record: WorktreeRecord): void
  delete(name: string): void
  /** Whether there are temporary files without a record: of a first writing that is under way, or died. */
  hasUnfinished(): boolean
  /** Takes them away. Only under the lock (R3). */
  deleteUnfinished(): void
  /** Oldest first. `unreadable`: paths of files that are no records; they are left alone. */
  all(): { readonly records: readonly WorktreeRecord[]; readonly unreadable: readonly string[] }
}

/** A record that says no more than a plan does. */
export const recordOf = ({ agentId, name, path, branch, base }: WorktreePlan): WorktreeRecord => ({
  version: 1,
  name,
  path,
  branch,
  base,
  agentId,
  createdAt: '',
  owner: {},
  state: 'ready',
  links: [],
  copies: [],
})

/** The records of the repository with this common git folder. */
export function openRecords(commonDir: string): WorktreeRecords {
  const home = join(commonDir, 'troupe')
  const folder = join(home, 'worktrees')
  const fileOf = (name: string): string => join(folder, `${folderOfTree(name)}.json`)
  const unfinished = (): readonly string[] => {
    const files = new Set(listed(folder))
    return [...files].filter(
      (file) => file.endsWith(TEMPORARY) && !files.has(file.slice(0, -TEMPORARY.length)),
    )
  }
  return {
    lockPath: join(home, 'lock'),
    read: (name) => readRecord(fileOf(name)),
    write(record) {
      mkdirSync(folder, { recursive: true })
      const path = fileOf(record.name)
      const temporary = `${path}${TEMPORARY}`
      writeFileSync(temporary, `${JSON.stringify(record)}\n`, { flush: true })
      renameSync(temporary, path)
    },
    delete(name) {
      rmSync(fileOf(name), { force: true })
      rmSync(`${fileOf(name)}${TEMPORARY}`, { force: true })
    },
    hasUnfinished: () => unfinished().length > 0,
    deleteUnfinished() {
      for (const file of unfinished()) rmSync(join(folder, file), { force: true })
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

const readRecord = (path: string): WorktreeRecord | undefined =>
  attempt(() => WorktreeRecord.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data)

const listed = (folder: string): readonly string[] => attempt(() => readdirSync(folder)) ?? []
