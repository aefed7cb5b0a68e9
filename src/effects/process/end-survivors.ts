/**
 * Finds and ends what an engine that died left running.
 *
 * S1 A recorded process is ended with its group only while its start time is the recorded one.
 * S2 On Linux every process that was started with the mark of a given agent or a recorded call is ended with
 *    its group, also one that left the group of its call.
 * S3 This process and its ancestors are never signalled, nor is a group that one of them is in: members of such
 *    a group are ended one by one.
 */
import { endProcesses, groupIsAlive, type Patience, type Target } from './end-processes.ts'
import type { RecordedProcess } from './process-runner.ts'
import { type ProcessEntry, readProcessTable, startedWith, startTimeOf } from './process-table.ts'

/** The variable that carries `<agent>/<call>`. */
export const MARK_VARIABLE = 'TROUPE_CALL'

/** Resolves with the number of groups (or single processes, see S3) that were ended, after they are gone. */
export function endSurvivors(
  recorded: readonly RecordedProcess[],
  agentIds: readonly string[],
  patience: Patience,
): Promise<number> {
  const groups = new Set(
    recorded
      .filter(({ pid, startTime }) => startTime !== undefined && startTimeOf(pid) === startTime)
      .map(({ pid }) => pid),
  )
  const marks = new Set(recorded.map(({ mark }) => mark))
  const agents = new Set(agentIds)
  const singles = new Set<string>()
  const identity = ({ pid, startTime }: ProcessEntry): string => `${pid} ${startTime}`

  const hasMark = ({ pid }: ProcessEntry): boolean => {
    const mark = startedWith(pid, MARK_VARIABLE)
    if (mark === undefined) return false
    const [agent = '', call] = mark.split('/')
    return marks.has(mark) || (call !== undefined && agents.has(agent))
  }

  const targetsIn = (table: readonly ProcessEntry[]): readonly Target[] => {
    const spared = selfAndAncestors(table)
    const sparedGroups = new Set(table.filter(({ pid }) => spared.has(pid)).map(({ group }) => group))
    const candidates = table.filter((entry) => !entry.isDead && !spared.has(entry.pid))
    // What was found once stays found: a process that is being taken down has no readable mark any more, and
    // still runs. So does what a marked process started in its group with another environment.
    for (const entry of candidates.filter(hasMark)) {
      if (sparedGroups.has(entry.group)) singles.add(identity(entry))
      else groups.add(entry.group)
    }
    const targets = candidates.flatMap((entry) => {
      if (singles.has(identity(entry))) return [entry.pid]
      return groups.has(entry.group) && !sparedGroups.has(entry.group) ? [-entry.group] : []
    })
    return [...new Set(targets)]
  }

  return endProcesses(() => {
    const table = readProcessTable()
    return table ? targetsIn(table) : [...groups].filter(groupIsAlive).map((group) => -group)
  }, patience)
}

function selfAndAncestors(table: readonly ProcessEntry[]): ReadonlySet<number> {
  const parents = new Map(table.map(({ pid, parent }) => [pid, parent]))
  const line = new Set<number>()
  for (let pid: number | undefined = process.pid; pid && !line.has(pid); pid = parents.get(pid)) line.add(pid)
  return line
}
