/** Things that several laws look up. */
import type { PermissionMode } from '../../../src/definitions/permission-mode.ts'
import { lastLineOf } from '../../../src/journal/log-entry.ts'
import { createConversation } from '../../../src/journal/projections/conversation.ts'
import { requestMessages } from '../../../src/journal/projections/request-messages.ts'
import { phaseOf } from '../../../src/machines/agent/accepts.ts'
import type { AgentEvent, RunKey } from '../../../src/machines/agent/events.ts'
import type { RequestMessage } from '../../../src/machines/agent/messages.ts'
import type { AgentId } from '../../../src/machines/ids.ts'
import type { SeenRequest } from '../model.ts'
import { whereIn } from '../model.ts'
import type { ShadowLog, ShadowLogs } from '../shadow-logs.ts'
import { eventsOf } from '../shadow-logs.ts'
import { inheritedBy, parentOfHeir } from './heirs.ts'

/** The log of the agent whose conversation a request is: the one whose prompt names it, the newest if there are two. */
export function logOfRequest(logs: ShadowLogs, name: string): ShadowLog | undefined {
  return logs.all.findLast((log) =>
    eventsOf(log, 'run.started').some(
      ({ content }) => whereIn({ messages: [{ role: 'user', content }] }).agent === name,
    ),
  )
}

/**
 * The logs whose agents a request may be of. Who has what it inherits summed up before it has said a word of its own
 * asks in its parent's words: nothing in such a request tells the two apart.
 */
export function logsOfRequest(logs: ShadowLogs, seen: SeenRequest): readonly ShadowLog[] {
  const named = logOfRequest(logs, seen.agent)
  if (named === undefined) return []
  if (!seen.isSummary) return [named]
  const asking = heirsOf(logs, named).filter(
    ({ state: { run } }) => run !== undefined && phaseOf(run) === 'compacting',
  )
  return asking.length > 0 ? asking : [named]
}

/** A request, for messages. */
export const nameOfRequest = ({ agent, turn, isSummary }: SeenRequest): string =>
  `${isSummary ? 'the summary' : `turn ${turn}`} of ${agent}`

/** An agent, and all who begin with its conversation, or with that of one of them. */
export const heirsOf = (logs: ShadowLogs, named: ShadowLog): readonly ShadowLog[] =>
  logs.all.filter((log) => log === named || descendsFrom(logs, log, named))

function descendsFrom(logs: ShadowLogs, log: ShadowLog, named: ShadowLog): boolean {
  const parent = parentOfHeir(logs, log)
  return parent !== undefined && (parent === named || descendsFrom(logs, parent, named))
}

/** The messages that a model of this name must be sent when the log is as it is now, what it shares or inherits first. */
export function messagesOf(logs: ShadowLogs, log: ShadowLog, model: string): readonly RequestMessage[] {
  const base = log.state.birth?.base
  const shared = base === undefined ? [] : (logs.all.find(({ path }) => path === base.path)?.events ?? [])
  const conversation = createConversation()
  for (const recorded of shared) if (lastLineOf(recorded) <= (base?.seq ?? -1)) conversation.push(recorded)
  for (const recorded of inheritedBy(logs, log)) conversation.push(recorded)
  for (const recorded of log.events) conversation.push(recorded)
  return requestMessages(conversation.entries(), model)
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
 * delivered. No resume opens the logs of a delivered child, so that the one below it stays without an end. So does one in
 * the background whose log cannot be written, and that whoever is owed its end was told is lost.
 */
export function isOutOfReach(logs: ShadowLogs, log: ShadowLog): boolean {
  const [, parent, ...above] = lineOf(logs, log.agentId ?? '')
  return (
    (log.state.run?.status === 'active' && isNoted(logs, log, true)) ||
    (parent !== undefined && isNoted(logs, parent, false)) ||
    above.some((ancestor) =>
      eventsOf(ancestor, 'call.ended').some(({ delivered }) => delivered?.agentId === parent?.agentId),
    ) ||
    (parent !== undefined && isOutOfReach(logs, parent))
  )
}

/** Whether a notice has told the last run of an agent, as lost or as ended, or a line says that nobody is told. */
function isNoted(logs: ShadowLogs, { agentId, state }: ShadowLog, asLost: boolean): boolean {
  const run = state.run?.context.run
  return logs.all.some(({ events }) =>
    events.some(({ event }) =>
      event.type === 'message.added' || event.type === 'run.started'
        ? event.tells?.some(
            (end) => (end.isLost === true) === asLost && end.agentId === agentId && end.run === run,
          )
        : event.type === 'child.released' &&
          event.isUndeliverable === true &&
          event.child.agentId === agentId &&
          event.child.run === run,
    ),
  )
}

/** Whether a resume has to read a log: the root's, and those of children whose calls have no result. */
export function isOpened(logs: ShadowLogs, log: ShadowLog): boolean {
  const parent = log.state.birth?.parent
  if (parent === undefined) return true
  const above = logs.of(parent.agentId)
  const isTold = eventsOf(above, 'call.ended').some(({ callId }) => callId === parent.callId)
  return above !== undefined && !isTold && isOpened(logs, above)
}

/** All agents below an agent. */
export function descendantsOf(logs: ShadowLogs, agentId: AgentId | string): readonly ShadowLog[] {
  return logs.all.filter(
    (log) =>
      log.agentId !== agentId && lineOf(logs, log.agentId ?? '').some((each) => each.agentId === agentId),
  )
}

/** Whether an agent, or one between it and the agent above, is in the background: its end holds nobody up. */
export function isBesideSomebody(
  logs: ShadowLogs,
  aboveId: string,
  birth: ShadowLog['state']['birth'],
): boolean {
  for (let each = birth; each !== undefined && each.agentId !== aboveId; ) {
    const log = logs.of(each.agentId)
    const isBeside =
      log !== undefined &&
      runOf(log).some(
        (event) =>
          event.type === 'agent.backgrounded' || (event.type === 'run.started' && event.background === true),
      )
    if (isBeside) return true
    each = logs.of(each.parent?.agentId ?? '')?.state.birth
  }
  return false
}

/** The events of the run that is on, or was the last one. */
export function runOf({ events }: ShadowLog): readonly AgentEvent[] {
  const from = events.findLastIndex(({ event }) => event.type === 'run.started')
  return events.slice(Math.max(0, from)).map(({ event }) => event)
}

/** A call as its model has made it: the tool, and what it was to do. */
export function callIn(
  log: ShadowLog,
  callId: string,
): { readonly tool: string | undefined; readonly input: Readonly<Record<string, unknown>> } {
  const reply = eventsOf(log, 'reply.received').findLast(({ calls }) =>
    calls.some((call) => call.callId === callId),
  )
  const index = reply?.calls.findIndex((call) => call.callId === callId) ?? -1
  const block = reply?.reply.content.filter(({ type }) => type === 'tool_use')[index]
  return { tool: reply?.calls[index]?.name, input: Object(block?.['input']) }
}

/** The permission mode that an agent has now: what an approved plan gives holds for its run. */
export function modeIn(log: ShadowLog): PermissionMode | undefined {
  const change = runOf(log).findLast((event) => event.type === 'mode.changed')
  return change?.mode ?? log.state.birth?.plan.mode.value
}

/** Whether that run has agreed to stop, and no stop hook has sent it back to work since. */
export function hasAgreed(log: ShadowLog): boolean {
  const run = runOf(log)
  const from = run.findLastIndex(({ type }) => type === 'stop.blocked')
  return run.slice(from + 1).some((event) => event.type === 'call.ended' && event.answers?.approve === true)
}

export const isSameRun = (one: RunKey, other: RunKey): boolean =>
  one.agentId === other.agentId && one.run === other.run

/** Ends that an agent is owed by its log; in front of an event, if one is given. */
export function owedIn({ events }: ShadowLog, before?: AgentEvent): readonly RunKey[] {
  let owed: readonly RunKey[] = []
  const settle = (keys: readonly RunKey[]): void => {
    owed = owed.filter((key) => !keys.some((each) => isSameRun(each, key)))
  }
  for (const { event } of events) {
    if (event === before) break
    if (event.type === 'child.launched') owed = [...owed, event.child]
    if (event.type === 'child.released') settle([event.child])
    if (event.type === 'message.added' || event.type === 'run.started') settle(event.tells ?? [])
    if (event.type === 'call.ended' && event.delivered !== undefined) settle([event.delivered])
  }
  return owed
}
