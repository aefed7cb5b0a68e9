/** Things that several laws look up. */
import type { AgentId } from '../../../src/machines/ids.ts'
import { whereIn } from '../model.ts'
import type { ShadowLog, ShadowLogs } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'

/** The log of the agent whose conversation a request is: the one whose prompt names it, the newest if there are two. */
export function logOfRequest(logs: ShadowLogs, name: string): ShadowLog | undefined {
  return logs.all.findLast((log) =>
    eventsOf(log, 'run.started').some(
      ({ content }) => whereIn({ messages: [{ role: 'user', content }] }).agent === name,
    ),
  )
}

/** The agent and its ancestors, the agent first. */
export function lineOf(logs: ShadowLogs, agentId: string): readonly ShadowLog[] {
  const line: ShadowLog[] = []
  for (let id: string | undefined = agentId; id !== undefined; ) {
    const log: ShadowLog | undefined = logs.of(id)
    if (log === undefined) break
    line.push(log)
    id = log.state.birth?.parent?.agentId
  }
  return line
}

/**
 * A known limit: when the log of an agent below a child cannot be written, the child gives it up, ends and is
 * delivered. No resume opens the logs of a delivered child, so that the one below it stays without an end.
 */
export function isOutOfReach(logs: ShadowLogs, log: ShadowLog): boolean {
  const [, parent, ...above] = lineOf(logs, log.agentId ?? '')
  return (
    above.some((ancestor) =>
      eventsOf(ancestor, 'call.ended').some(({ delivered }) => delivered?.agentId === parent?.agentId),
    ) ||
    (parent !== undefined && isOutOfReach(logs, parent))
  )
}

/** All agents below an agent. */
export function descendantsOf(logs: ShadowLogs, agentId: AgentId | string): readonly ShadowLog[] {
  return logs.all.filter(
    (log) =>
      log.agentId !== agentId && lineOf(logs, log.agentId ?? '').some((each) => each.agentId === agentId),
  )
}
