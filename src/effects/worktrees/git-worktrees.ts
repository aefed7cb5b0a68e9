/** Worktrees of real repositories. */
import { decideWorktree, type WorktreeFacts } from '../../definitions/worktrees/decide.ts'
import { commonDirOf } from '../git-folder.ts'
import { createWorktree, reopenWorktree } from './create.ts'
import { diffWorktree, mergeWorktree } from './diff-merge.ts'
import { type InspectOptions, inspectWorktree } from './inspect.ts'
import { isThere } from './is-there.ts'
import { planWorktree } from './plan.ts'
import { openRecords, recordOf, type WorktreeRecord } from './records.ts'
import { removeWorktree } from './remove.ts'
import { noRepository } from './repository.ts'
import { sweepRepository } from './sweep.ts'
import { WorktreeError } from './worktree-error.ts'
import type { ListedWorktree, WorktreePlan, WorktreeSurroundings, Worktrees } from './worktrees.ts'

/** Makes, looks at and removes worktrees with git. */
export function createGitWorktrees({ options = {}, owners }: WorktreeSurroundings): Worktrees {
  const looking: InspectOptions = { keepIgnored: options.keepIgnored === true, merged: false }
  const inspect = async (plan: WorktreePlan, merged = false): Promise<WorktreeFacts> => {
    const record = openRecords(plan.repository).read(plan.name)
    // Without a record nothing is known of links and copies, which then count as changes.
    return inspectWorktree(record ?? recordOf(plan), plan.repository, { ...looking, merged })
  }
  return {
    isRepository: (cwd) => commonDirOf(cwd) !== undefined,
    isThere,
    plan: (request) => planWorktree(request, options, owners),
    create: (plan, use) => createWorktree({ plan, use, options, owners }),
    reopen: (plan, use) => reopenWorktree({ plan, use, options, owners }),
    inspect: (plan) => inspect(plan),
    decide: async (plan, { merged = false } = {}) => decideWorktree(await inspect(plan, merged)),
    remove: (plan) => removeWorktree(plan, owners),
    async keep(plan) {
      const records = openRecords(plan.repository)
      const record = records.read(plan.name)
      if (record !== undefined) records.write({ ...record, keep: true })
    },
    async sweep(cwd, { merged = false, except = new Set<string>() } = {}) {
      const repository = commonDirOf(cwd)
      if (repository === undefined) return { removed: [], kept: [], problems: [] }
      return sweepRepository(repository, owners, { ...looking, merged, except })
    },
    async list(cwd) {
      const repository = repositoryOf(cwd)
      const { records } = openRecords(repository).all()
      const listed: ListedWorktree[] = []
      for (const record of records) {
        const facts = await inspectWorktree(record, repository, looking)
        const { name, path, branch, base, agentId, createdAt } = record
        const owner = owners.whereabouts(record.owner)
        const decision = decideWorktree(facts)
        listed.push({ name, path, branch, base, repository, agentId, createdAt, owner, facts, decision })
      }
      return listed
    },
    async diff(cwd, name) {
      const repository = repositoryOf(cwd)
      return diffWorktree(recordNamed(repository, name), { repository, owners })
    },
    async merge(cwd, name) {
      return mergeWorktree(recordNamed(repositoryOf(cwd), name), cwd)
    },
  }
}

function repositoryOf(cwd: string): string {
  const repository = commonDirOf(cwd)
  if (repository === undefined) throw noRepository(cwd)
  return repository
}

function recordNamed(repository: string, name: string): WorktreeRecord {
  const records = openRecords(repository)
  const record =
    records.read(name) ?? records.all().records.find(({ branch, path }) => branch === name || path === name)
  if (record !== undefined) return record
  const names = records.all().records.map((each) => each.name)
  throw new WorktreeError(
    'worktree-unknown',
    `There is no worktree "${name}" of ours in this repository. ${names.length === 0 ? 'There are none at all.' : `There are: ${names.join(', ')}.`}`,
  )
}
