/** Agents that begin with what their parent knew: where the logs say that they begin, read without the engine's help. */
import type { AgentEvent, Recorded } from '../../../src/machines/agent/events.ts'
import type { ShadowLog, ShadowLogs } from '../shadow-logs.ts'

/** Whether an agent begins with its parent's conversation, and the parent perhaps with that of another. */
export const parentOfHeir = (logs: ShadowLogs, { state: { birth } }: ShadowLog): ShadowLog | undefined =>
  birth?.inherits === undefined ? undefined : logs.of(birth.parent?.agentId ?? '')

/** What an agent begins with: the lines of others, in their order. */
export function inheritedBy(logs: ShadowLogs, log: ShadowLog): readonly Recorded[] {
  const { inherits } = log.state.birth ?? {}
  const parent = parentOfHeir(logs, log)
  if (inherits === undefined || parent === undefined) return []
  const own = parent.events.filter(({ seq }) => seq < inherits.seq)
  const told = own.findLastIndex(({ event }) => event.type === 'run.started')
  const reply = parent.events.find(({ seq }) => seq === inherits.seq)
  return [
    ...(inherits.from === 'all' ? [...inheritedBy(logs, parent), ...own] : own.slice(told)),
    ...(reply === undefined ? [] : saidIn(reply)),
  ]
}

/** A reply without its calls; nothing when that leaves at most thoughts. */
function saidIn(reply: Recorded): readonly Recorded[] {
  const { event } = reply
  if (event.type !== 'reply.received') return []
  const content = event.reply.content.filter(({ type }) => type !== 'tool_use')
  const isWorthIt = content.some(({ type }) => !type.includes('thinking'))
  const said: AgentEvent = { ...event, reply: { ...event.reply, content }, calls: [] }
  return isWorthIt ? [{ ...reply, event: said }] : []
}

/** Whether an agent is a fork, or has in its conversation that somebody was one. */
export function isBehindFork(logs: ShadowLogs, log: ShadowLog | undefined): boolean {
  if (log?.state.birth?.inherits === undefined) return false
  return log.state.birth.inherits.fork !== undefined || isBehindFork(logs, parentOfHeir(logs, log))
}
