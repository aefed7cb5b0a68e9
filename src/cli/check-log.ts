/**
 * Folds a log to the state that it leads to and looks whether each event can follow the ones before it. Pure but
 * for reading; memory does not grow with the log.
 */
import { accepts, type Phase, phaseOf } from '../machines/agent/accepts.ts'
import { endOf } from '../machines/agent/context.ts'
import type { AgentEvent, Outcome, Recorded } from '../machines/agent/events.ts'
import { type AgentState, FoldError, foldAgent, UNBORN } from '../machines/agent/fold.ts'
import type { Usage } from '../machines/agent/messages.ts'
import type { LogEntry, Remark } from './session-reader.ts'

/** The first event that breaks a law. */
export interface Violation {
  /** Byte that it begins with. */
  readonly offset: number
  readonly seq: number
  readonly type: string
  readonly reason: string
}

/** An agent as its log says it is. */
interface FoldedAgent {
  readonly agentId: string | undefined
  readonly agentType: string | undefined
  /** `unborn`: no event at all; `idle`: born, no run yet. */
  readonly phase: Phase | 'idle' | 'unborn'
  /** The process stopped running it and none has gone on. */
  readonly isSuspended: boolean
  readonly run: number
  readonly turns: number
  readonly toolUses: number
  readonly openCalls: readonly { readonly callId: string; readonly name: string; readonly phase: string }[]
  /** Of the last request, and the sum of the run. */
  readonly usage: Usage | undefined
  readonly totalUsage: Usage | undefined
  readonly outcome: Outcome | undefined
}

export interface LogCheck {
  readonly events: number
  /** Position of the last event's last line; -1 when there is none. */
  readonly position: number
  readonly agent: FoldedAgent
  /** What is damaged, and what a kill left. */
  readonly remarks: readonly Remark[]
  /** Lines of other programs or newer versions, which a fold skips. */
  readonly foreign: number
  readonly violation: Violation | undefined
}

/**
 * Folds up to and with the line at position `until` (all of it by default), or up to the first violation: what
 * follows one means nothing. A reply counts with its last line.
 */
export async function checkLog(
  entries: AsyncIterable<LogEntry>,
  until = Number.POSITIVE_INFINITY,
): Promise<LogCheck> {
  let state = UNBORN
  let events = 0
  let position = -1
  let isSuspended = false
  let violation: Violation | undefined
  let foreign = 0
  const remarks: Remark[] = []
  const delivered = new Set<string>()
  for await (const entry of entries) {
    if (entry.kind !== 'event') {
      if (entry.kind === 'foreign') foreign += 1
      else remarks.push(entry)
      continue
    }
    const { seq, event } = entry.recorded
    if (lastLine(entry.recorded) > until) break
    const reason = whyImpossible(state, event, delivered)
    if (reason !== undefined) {
      violation = { offset: entry.offset, seq, type: event.type, reason }
      break
    }
    state = foldAgent(state, event)
    if (event.type === 'run.suspended') isSuspended = true
    else if (event.type === 'run.resumed' || event.type === 'run.started' || event.type === 'agent.ended')
      isSuspended = false
    events += 1
    position = lastLine(entry.recorded)
  }
  return { events, position, agent: describe(state, isSuspended), remarks, foreign, violation }
}

const lastLine = ({ seq, lines }: Recorded): number => seq + Math.max(1, lines.length) - 1

/** Why an event cannot be the next one; undefined when it can. */
function whyImpossible(state: AgentState, event: AgentEvent, delivered: Set<string>): string | undefined {
  if (event.type !== 'agent.spawned' && event.type !== 'run.started' && state.run !== undefined) {
    if (!accepts(state.run, event)) {
      const call = 'callId' in event ? ` (call ${String(event.callId)})` : ''
      return `an agent that is ${phaseOf(state.run)} does not take ${event.type}${call}`
    }
    if (event.type === 'agent.ended') {
      const folded = endOf(state.run.context, event.durationMs)
      for (const key of ['status', 'turns', 'toolUses'] as const) {
        if (event[key] !== folded[key])
          return `its end says ${key} ${event[key]}, its events say ${folded[key]}`
      }
    }
  }
  if (event.type === 'call.ended' && event.delivered !== undefined) {
    const key = `${event.delivered.agentId} run ${event.delivered.run}`
    if (delivered.has(key)) return `the end of ${key} is told twice`
    delivered.add(key)
  }
  try {
    foldAgent(state, event)
    return undefined
  } catch (error) {
    if (error instanceof FoldError) return error.message
    throw error
  }
}

function describe({ birth, run }: AgentState, isSuspended: boolean): FoldedAgent {
  return {
    agentId: birth?.agentId,
    agentType: birth?.plan.agentType,
    phase: run !== undefined ? phaseOf(run) : birth !== undefined ? 'idle' : 'unborn',
    isSuspended,
    run: run?.context.run ?? 0,
    turns: run?.context.turns ?? 0,
    toolUses: run?.context.toolUses ?? 0,
    openCalls: (run?.context.calls ?? []).map(({ callId, name, phase }) => ({ callId, name, phase })),
    usage: run?.context.usage,
    totalUsage: run?.context.totalUsage,
    outcome: run?.context.outcome,
  }
}
