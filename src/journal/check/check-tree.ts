/**
 * Laws that only two logs together can show: a child is born after its parent's log names it, and what a parent is
 * told of an end is what the child's log says.
 *
 * The order of two files is told by the times in them, so a clock that was set back in between can look like a
 * violation. Checks only what both logs have: a log that is not there breaks nothing.
 */
import type { AgentId } from '../../machines/ids.ts'
import type { EventEntry, LogEntry } from '../log-entry.ts'
import type { CheckOptions, LogCheck, Violation } from './check-log.ts'
import { checkLog } from './check-log.ts'

/** A log to check. */
export interface NamedLog {
  readonly path: string
  readonly entries: AsyncIterable<LogEntry>
}

/** A checked log. `violation` is its first, its own or one that another log shows. */
export interface CheckedLog extends LogCheck {
  readonly path: string
}

interface Place {
  readonly offset: number
  readonly seq: number
  readonly at: number
}

interface Facts {
  birth: (Place & { readonly agentId: AgentId; readonly parent: string | undefined }) | undefined
  readonly started: Map<string, Place>
  /** Calls that started a child. */
  readonly calls: Set<string>
  readonly told: (Place & {
    readonly agentId: string
    readonly run: number
    /** Success or not; undefined where the words of a notice say it. */
    readonly isOk: boolean | undefined
    /** It is told that there is no end. */
    readonly isLost?: true | undefined
  })[]
  readonly ends: Map<number, Place & { readonly status: string }>
}

/** Checks all logs of a session, each alone and then together. */
export async function checkTree(
  logs: Iterable<NamedLog> | AsyncIterable<NamedLog>,
  options: Pick<CheckOptions, 'until'> = {},
): Promise<readonly CheckedLog[]> {
  const checked: { readonly check: CheckedLog; readonly facts: Facts }[] = []
  for await (const { path, entries } of logs) {
    const facts: Facts = { birth: undefined, started: new Map(), calls: new Set(), told: [], ends: new Map() }
    const check = await checkLog(entries, { ...options, onEvent: (entry) => note(facts, entry) })
    checked.push({ check: { path, ...check }, facts })
  }
  const byAgent = new Map(checked.flatMap((log) => (log.facts.birth ? [[log.facts.birth.agentId, log]] : [])))
  return checked.map(({ check, facts }) => ({
    ...check,
    violation: check.violation ?? birthViolation(facts, byAgent) ?? toldViolation(facts, byAgent),
  }))
}

type Logs = ReadonlyMap<string, { readonly check: CheckedLog; readonly facts: Facts }>

function note(facts: Facts, { offset, recorded: { seq, at, event } }: EventEntry): void {
  const place = { offset, seq, at }
  switch (event.type) {
    case 'agent.spawned':
      facts.birth = { ...place, agentId: event.agentId, parent: event.parent?.agentId }
      return
    case 'call.started':
      if (event.child === undefined) return
      facts.started.set(event.child.agentId, place)
      facts.calls.add(event.callId)
      return
    case 'call.ended':
      if (event.delivered !== undefined)
        facts.told.push({
          ...place,
          ...event.delivered,
          // A call that asked after an end is in order whatever the end was.
          isOk: facts.calls.has(event.callId) ? event.outcome === 'ok' : undefined,
        })
      return
    case 'message.added':
    case 'run.started':
      for (const told of event.tells ?? []) facts.told.push({ ...place, ...told, isOk: undefined })
      return
    case 'agent.ended':
      facts.ends.set(event.run, { ...place, status: event.status })
      return
    default:
  }
}

/** A log whose reading stopped at a violation, or that has damage, may have lost what is looked for. */
const isWhole = ({ violation, remarks }: LogCheck): boolean =>
  violation === undefined && remarks.every(({ kind }) => kind !== 'damage')

function birthViolation({ birth }: Facts, logs: Logs): Violation | undefined {
  if (birth?.parent === undefined) return undefined
  const parent = logs.get(birth.parent)
  if (parent === undefined || !isWhole(parent.check)) return undefined
  const started = parent.facts.started.get(birth.agentId)
  if (started === undefined) {
    return broken(birth, 'agent.spawned', `the log of its parent ${birth.parent} does not name it`)
  }
  return birth.at < started.at
    ? broken(
        birth,
        'agent.spawned',
        `it is born before line ${started.seq} of its parent, which says that it may be`,
      )
    : undefined
}

function toldViolation({ told }: Facts, logs: Logs): Violation | undefined {
  for (const delivery of told) {
    const child = logs.get(delivery.agentId)
    if (child === undefined || !isWhole(child.check)) continue
    const end = child.facts.ends.get(delivery.run)
    const who = `${delivery.agentId} run ${delivery.run}`
    if (delivery.isLost === true && end === undefined) continue
    if (end === undefined) return broken(delivery, 'call.ended', `it tells the end of ${who}, which has none`)
    if (end.at > delivery.at)
      return broken(delivery, 'call.ended', `it tells the end of ${who} before it came`)
    if (delivery.isOk !== undefined && (end.status === 'completed') !== delivery.isOk) {
      return broken(
        delivery,
        'call.ended',
        `it tells ${delivery.isOk ? 'success' : 'failure'} of ${who}, which is ${end.status}`,
      )
    }
  }
  return undefined
}

const broken = ({ offset, seq }: Place, type: string, reason: string): Violation => ({
  offset,
  seq,
  type,
  law: 'tree',
  reason,
})
