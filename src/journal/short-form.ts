/**
 * What a lifecycle line leaves out because the line, or the rest of its event, says it already. Pure; the two functions
 * are each other's inverse, and a line that says everything is read as it is.
 *
 *   - `agent.spawned` of a sub-agent: `agentId`, which its line has.
 *   - A plan: the rule `parent` of model and mode, which are bare values then.
 *   - `agent.prepared`: a report that has no schema is the number of its corrections.
 *   - `agent.ended`: `totalUsage`, where the last request is all that was used; the outcome `completed`, which its status
 *     says.
 */
import { addUsage, NO_USAGE } from '../machines/agent/context.ts'
import type { SpawnPlan } from '../machines/agent/events/birth.ts'
import type { AgentEvent, AgentEventOf } from '../machines/agent/events.ts'
import { Usage } from '../machines/agent/messages.ts'
import type { LogIdentity } from './cursor.ts'
import { isObject, type LifecycleLine } from './line.ts'
import type { RawEvent } from './upcast.ts'

/** The event as its line has it. */
export function shortForm(event: AgentEvent, { isSidechain, agentId }: LogIdentity): object {
  switch (event.type) {
    case 'agent.spawned': {
      const { agentId: id, ...rest } = event
      const isSaid = isSidechain && id === agentId
      return { ...(isSaid ? rest : event), plan: shortPlan(event.plan) }
    }
    case 'call.started': {
      const { child } = event
      return child === undefined ? event : { ...event, child: { ...child, plan: shortPlan(child.plan) } }
    }
    case 'agent.prepared': {
      const { report } = event
      const isPlain = report?.hasSchema === false && Object.keys(report).length === 2
      return isPlain ? { ...event, report: report.corrections } : event
    }
    case 'agent.ended':
      return shortEnd(event)
    default:
      return event
  }
}

/** The event of a line, with what the line leaves out. */
export function wholeForm({ event, ...line }: LifecycleLine): RawEvent {
  switch (event.type) {
    case 'agent.spawned': {
      const agentId = 'agentId' in event || !('agentId' in line) ? {} : { agentId: line['agentId'] }
      return { ...event, ...agentId, ...('plan' in event && { plan: wholePlan(event['plan']) }) }
    }
    case 'call.started': {
      const child = event['child']
      return isObject(child) ? { ...event, child: { ...child, plan: wholePlan(child['plan']) } } : event
    }
    case 'agent.prepared':
      return typeof event['report'] === 'number'
        ? { ...event, report: { hasSchema: false, corrections: event['report'] } }
        : event
    case 'agent.ended':
      return wholeEnd(event)
    default:
      return event
  }
}

/** Values of a plan that come from the parent as nearly all do. */
const FROM_PARENT = ['model', 'mode'] as const

function shortPlan(plan: SpawnPlan): object {
  const short: Record<string, unknown> = { ...plan }
  for (const name of FROM_PARENT) {
    const { value, rule, ...more } = plan[name]
    if (rule === 'parent' && Object.keys(more).length === 0) short[name] = value
  }
  return short
}

function wholePlan(plan: unknown): unknown {
  if (!isObject(plan)) return plan
  const whole: Record<string, unknown> = { ...plan }
  for (const name of FROM_PARENT)
    if (typeof whole[name] === 'string') whole[name] = { value: whole[name], rule: 'parent' }
  return whole
}

function shortEnd({ totalUsage, outcome, ...rest }: AgentEventOf<'agent.ended'>): object {
  const isPlain = outcome.kind === 'completed' && Object.keys(outcome).length === 1
  return {
    ...rest,
    ...(!(isPlain && rest.status === 'completed') && { outcome }),
    ...(!isTheSame(totalUsage, addUsage(rest.usage, NO_USAGE)) && { totalUsage }),
  }
}

function wholeEnd(event: RawEvent): RawEvent {
  const usage = 'totalUsage' in event ? undefined : Usage.safeParse(event['usage']).data
  return {
    ...event,
    ...(!('outcome' in event) && event['status'] === 'completed' && { outcome: { kind: 'completed' } }),
    ...(usage !== undefined && { totalUsage: addUsage(usage, NO_USAGE) }),
  }
}

/** Whether it has these counts, and nothing besides. */
function isTheSame(usage: Usage, counts: Usage): boolean {
  const names = Object.keys(usage)
  return (
    names.length === Object.keys(counts).length &&
    names.every((name) => Object.hasOwn(counts, name) && usage[name] === counts[name])
  )
}
