/** Clearing up what dead owners left: half-made trees, interrupted removals, trees that nobody would miss. */

import { messageOf } from '../../definitions/message-of.ts'
import { decideWorktree } from '../../definitions/worktrees/decide.ts'
import { isWorkedIn } from '../process/process-table.ts'
import { type InspectOptions, inspectWorktree } from './inspect.ts'
import { isThere } from './is-there.ts'
import { openRecords, type WorktreeRecord } from './records.ts'
import { dismantle, removeWorktree } from './remove.ts'
import { underLock } from './repository-lock.ts'
import { removeScratchLeftovers } from './scratch-index.ts'
import type { Swept, WorktreeOwners } from './worktrees.ts'

/** Sweeps one repository; see `Worktrees.sweep`. Starts no process where there is nothing of ours. */
export async function sweepRepository(
  repository: string,
  owners: WorktreeOwners,
  options: InspectOptions & { readonly except: ReadonlySet<string> },
): Promise<Swept> {
  const records = openRecords(repository)
  const { records: found, unreadable } = records.all()
  const removed: string[] = []
  const kept: { name: string; reasons: readonly string[] }[] = []
  const problems = unreadable.map((path) => `${path} is no record of a worktree; it was left as it is.`)
  const isLeft = ({ owner, agentId }: WorktreeRecord): boolean =>
    owners.whereabouts(owner) === 'dead' && !options.except.has(agentId)
  try {
    if (records.hasUnfinished())
      await underLock(owners, records.lockPath, async () => records.deleteUnfinished())
    removeScratchLeftovers({ repository, owners })
  } catch (error) {
    problems.push(`Temporary files in ${repository}: ${messageOf(error)}`)
  }
  for (const { name, agentId } of found.filter(isLeft)) {
    try {
      const record = await claim(repository, name, owners)
      if (record === undefined) continue
      // Its engine is dead, but what it started may still be writing there.
      await owners.endSurvivors(agentId)
      const reasons = await sweepOne(record, repository, owners, options)
      if (reasons === undefined) removed.push(name)
      else kept.push({ name, reasons })
    } catch (error) {
      problems.push(`The worktree ${name}: ${messageOf(error)}`)
    }
  }
  return { removed, kept, problems }
}

/** Makes a dead owner's tree this process's, so that two sweeps do not meet in it. Undefined: another was first. */
async function claim(
  repository: string,
  name: string,
  owners: WorktreeOwners,
): Promise<WorktreeRecord | undefined> {
  const records = openRecords(repository)
  return underLock(owners, records.lockPath, async () => {
    const record = records.read(name)
    if (record === undefined || owners.whereabouts(record.owner) !== 'dead') return undefined
    const claimed = { ...record, owner: { ...owners.self() } }
    records.write(claimed)
    return record
  })
}

/** Why it stays; undefined: it is gone. */
async function sweepOne(
  record: WorktreeRecord,
  repository: string,
  owners: WorktreeOwners,
  options: InspectOptions,
): Promise<readonly string[] | undefined> {
  const records = openRecords(repository)
  const giveBack = (reasons: readonly string[]): readonly string[] => {
    // To the dead owner, so that the next sweep looks again.
    records.write(record)
    return reasons
  }
  if (record.keep === true && isThere(record.path)) return giveBack(['it is to be kept'])
  if (isWorkedIn(record.path)) return giveBack(['a process works in it'])
  const plan = { ...record, repository }
  if (record.state === 'creating') {
    await dismantle(record, { plan, owners })
    return undefined
  }
  const decision = decideWorktree(await inspectWorktree(record, repository, options))
  if (decision.kind === 'keep') return giveBack(decision.reasons)
  await removeWorktree(plan, owners)
  return undefined
}
