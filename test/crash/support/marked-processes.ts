/** What agents have started and is still there: found by the mark that each of their processes carries (Linux). */
import { readdirSync, readFileSync } from 'node:fs'

/** Processes that carry the mark of one of the agents, as `pid mark`. Empty where nobody can see it. */
export function markedProcesses(agentIds: readonly string[]): readonly string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const mark = environmentOf(pid).find((entry) => entry.startsWith('TROUPE_CALL='))
      return mark !== undefined && agentIds.some((id) => mark.includes(id)) ? [`${pid} ${mark}`] : []
    })
}

function environmentOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    // It ended while the list was read, or is another user's.
    return []
  }
}
