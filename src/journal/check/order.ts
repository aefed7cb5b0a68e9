/** Law 2 and 4: an event can follow the ones before it, and nothing leaves an end but the next run. */
import { ACCEPTED, accepts, phaseOf } from '../../machines/agent/accepts.ts'
import type { AgentEvent } from '../../machines/agent/events.ts'
import type { AgentState } from '../../machines/agent/fold.ts'
import { FoldError, foldAgent, isBetweenRuns } from '../../machines/agent/fold.ts'

/** The agent after the event, or why it cannot follow. */
export type Next = { readonly state: AgentState } | { readonly reason: string }

/** Folds one event, if the agent takes it. */
export function nextState(state: AgentState, event: AgentEvent): Next {
  const { run, birth } = state
  const isOfRun = event.type !== 'agent.spawned' && event.type !== 'run.started'
  if (isOfRun && run !== undefined && !isBetweenRuns(run, event)) {
    if (!accepts(run, event) && event.type !== 'agent.ended') return { reason: refusal(state, event) }
    // An end that says something else than its events is the business of the law of ends, which names what differs.
    if (event.type === 'agent.ended' && !ACCEPTED['agent.ended'].includes(phaseOf(run)))
      return { reason: refusal(state, event) }
  }
  if (event.type === 'run.started' && birth !== undefined) {
    const expected = (run?.context.run ?? birth.base?.run ?? 0) + 1
    if (event.run !== expected) return { reason: `run ${event.run} starts where run ${expected} is next` }
  }
  try {
    return { state: foldAgent(state, event) }
  } catch (error) {
    if (error instanceof FoldError) return { reason: error.message }
    throw error
  }
}

function refusal({ run }: AgentState, event: AgentEvent): string {
  const call = 'callId' in event ? ` (call ${String(event.callId)})` : ''
  return `an agent that is ${run === undefined ? 'idle' : phaseOf(run)} does not take ${event.type}${call}`
}
