/**
 * Folds a log to the state that it leads to, and looks at each event with every law that one log can show. Pure but
 * for reading. Shared by the library, the command line, and the tests that crash and simulate.
 */
import type { Phase } from '../../machines/agent/accepts.ts'
import { phaseOf } from '../../machines/agent/accepts.ts'
import type { Outcome } from '../../machines/agent/events.ts'
import type { AgentState } from '../../machines/agent/fold.ts'
import { UNBORN } from '../../machines/agent/fold.ts'
import type { Usage } from '../../machines/agent/messages.ts'
import type { EventEntry, LogEntry, Remark } from '../log-entry.ts'
import { lastLineOf } from '../log-entry.ts'
import { endsLaw } from './ends.ts'
import type { Law } from './law.ts'
import { nextState } from './order.ts'
import { pairingLaw } from './pairing.ts'
import { chainLaw, seqLaw } from './positions.ts'
import { requestsLaw } from './requests.ts'
import { toldOnceLaw } from './told-once.ts'

/** An event that breaks a law. */
export interface Violation {
  /** Byte that it begins with. */
  readonly offset: number
  readonly seq: number
  readonly type: string
  /** Which: `order`, `ends`, `pairing`, `told once`, `seq`, `chain`, `requests`, or `tree` for two logs together. */
  readonly law: string
  readonly reason: string
}

/** An agent as its log says it is. */
export interface FoldedAgent {
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

/** What a log comes to. */
export interface LogCheck {
  readonly events: number
  /** Position of the last event's last line; -1 when there is none. */
  readonly position: number
  readonly agent: FoldedAgent
  /** What is damaged, and what a kill left. */
  readonly remarks: readonly Remark[]
  /** Lines of other programs or newer versions, which a fold skips. */
  readonly foreign: number
  /** The first event that breaks a law. */
  readonly violation: Violation | undefined
}

/** All laws that one log can show, besides the order. */
export const logLaws = (): readonly Law[] => [
  endsLaw(),
  toldOnceLaw(),
  pairingLaw(),
  seqLaw(),
  chainLaw(),
  requestsLaw(),
]

export interface CheckOptions {
  /** Position of the last line that counts. Default: all of them. A reply counts with its last line. */
  readonly until?: number | undefined
  /** Default: {@link logLaws}. */
  readonly laws?: readonly Law[]
  /** Called with each event that broke no law. */
  readonly onEvent?: (entry: EventEntry, after: AgentState) => void
}

/** Folds and checks, up to the first violation: what follows one means nothing. */
export async function checkLog(
  entries: AsyncIterable<LogEntry>,
  { until = Number.POSITIVE_INFINITY, laws = logLaws(), onEvent }: CheckOptions = {},
): Promise<LogCheck> {
  let state = UNBORN
  let events = 0
  let position = -1
  let isSuspended = false
  let violation: Violation | undefined
  let foreign = 0
  const remarks: Remark[] = []
  for await (const entry of entries) {
    if (entry.kind !== 'event') {
      if (entry.kind === 'foreign') foreign += 1
      else remarks.push(entry)
      // Lines of a reply that was cut off are nobody's parent, and a foreign line without an id hangs nowhere.
      if (entry.kind === 'damage' || entry.line !== undefined) for (const law of laws) law.gap?.(entry.line)
      continue
    }
    if (lastLineOf(entry.recorded) > until) break
    const { seq, event } = entry.recorded
    const next = look(laws, entry, state)
    if ('reason' in next) {
      violation = { offset: entry.offset, seq, type: event.type, ...next }
      break
    }
    state = next.state
    if (event.type === 'run.suspended') isSuspended = true
    else if (event.type === 'run.resumed' || event.type === 'run.started' || event.type === 'agent.ended')
      isSuspended = false
    events += 1
    position = lastLineOf(entry.recorded)
    onEvent?.(entry, state)
  }
  return { events, position, agent: describe(state, isSuspended), remarks, foreign, violation }
}

/** The agent after the event, or the first law that the event breaks. */
function look(
  laws: readonly Law[],
  { recorded, parents }: EventEntry,
  before: AgentState,
): { readonly state: AgentState } | Pick<Violation, 'law' | 'reason'> {
  const next = nextState(before, recorded.event)
  if ('reason' in next) return { law: 'order', reason: next.reason }
  for (const law of laws) {
    const reason = law.see({ recorded, before, after: next.state, parents })
    if (reason !== undefined) return { law: law.name, reason }
  }
  return next
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
