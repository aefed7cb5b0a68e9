/**
 * What a lifecycle line leaves out because the line, or the rest of its event, says it already. Pure; the two functions
 * are each other's inverse, and a line that says everything is read as it is.
 *
 *   - `agent.spawned` of a sub-agent: `agentId`, which its line has.
 *   - `agent.ended`: `totalUsage`, where the last request is all that was used.
 */
import { addUsage, NO_USAGE } from '../machines/agent/context.ts'
import type { AgentEvent } from '../machines/agent/events.ts'
import { Usage } from '../machines/agent/messages.ts'
import type { LogIdentity } from './cursor.ts'
import type { LifecycleLine } from './line.ts'
import type { RawEvent } from './upcast.ts'

/** The event as its line has it. */
export function shortForm(event: AgentEvent, { isSidechain, agentId }: LogIdentity): object {
  if (event.type === 'agent.spawned' && isSidechain && event.agentId === agentId) {
    const { agentId: _, ...rest } = event
    return rest
  }
  if (event.type === 'agent.ended' && isTheSame(event.totalUsage, addUsage(event.usage, NO_USAGE))) {
    const { totalUsage: _, ...rest } = event
    return rest
  }
  return event
}

/** The event of a line, with what the line leaves out. */
export function wholeForm({ event, ...line }: LifecycleLine): RawEvent {
  if (event.type === 'agent.spawned' && !('agentId' in event) && 'agentId' in line)
    return { ...event, agentId: line['agentId'] }
  if (event.type === 'agent.ended' && !('totalUsage' in event)) {
    const usage = Usage.safeParse(event['usage'])
    if (usage.success) return { ...event, totalUsage: addUsage(usage.data, NO_USAGE) }
  }
  return event
}

/** Whether it has these counts, and nothing besides. */
function isTheSame(usage: Usage, counts: Usage): boolean {
  const names = Object.keys(usage)
  return (
    names.length === Object.keys(counts).length &&
    names.every((name) => Object.hasOwn(counts, name) && usage[name] === counts[name])
  )
}
