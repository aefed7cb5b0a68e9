/**
 * Scenarios of a run: `given(history).when(more events)`, then look at where the run is and what it wants.
 */
import type { Phase } from '../../src/machines/agent/accepts.ts'
import { accepts, phaseOf } from '../../src/machines/agent/accepts.ts'
import { endOf, owesReview } from '../../src/machines/agent/context.ts'
import type { EndStatus, Outcome, RunEvent } from '../../src/machines/agent/events.ts'
import type { RunSnapshot } from '../../src/machines/agent/fold.ts'
import { beginRun, foldRun } from '../../src/machines/agent/fold.ts'
import { AGENT, callEnded, RUN, reviewEnded, reviewRequested } from './run-events.ts'

/** A run after some events. */
export interface Scenario {
  readonly run: RunSnapshot
  readonly phase: Phase
  readonly outcome: Outcome | undefined
  /** Ids of the effects that the run wants right now, oldest first. */
  readonly effects: readonly string[]
  /** Ids of the calls without a result, in the order of the reply. */
  readonly openCalls: readonly string[]
  /** The run after more events. One that it does not take changes nothing, as in the engine. */
  when(...events: readonly RunEvent[]): Scenario
  /**
   * The run after its effects came to rest: what the engine appends when `drain` is through, open calls closed and a
   * review that is owed made first.
   */
  drained(): Scenario
}

/** A run with a history. Throws for an event that the run does not take: a history holds only what happened. */
export function given(...history: readonly RunEvent[]): Scenario {
  let run = beginRun(AGENT, RUN)
  for (const event of history) {
    if (!accepts(run, event)) throw new Error(`a run in ${phaseOf(run)} does not take ${event.type}`)
    run = foldRun(run, event)
  }
  return scenario(run)
}

/** The status of the end that a run has reached. Throws when it has not ended. */
export function statusAtEnd({ run, phase }: Scenario): EndStatus {
  if (run.status !== 'done') throw new Error(`the run has not ended, it is ${phase}`)
  if (phase !== 'completed' && phase !== 'failed' && phase !== 'killed') {
    throw new Error(`the run is done but in ${phase}`)
  }
  return phase
}

function scenario(run: RunSnapshot): Scenario {
  return {
    run,
    phase: phaseOf(run),
    outcome: run.context.outcome,
    effects: Object.keys(run.children),
    openCalls: run.context.calls.map((call) => call.callId),
    when: (...events) => scenario(events.reduce(foldRun, run)),
    drained: () => {
      const closed = [
        ...run.context.calls.map(({ callId }) => callEnded(callId, 'interrupted')),
        ...(owesReview(run.context) ? [reviewRequested(), reviewEnded()] : []),
      ].reduce(foldRun, run)
      return scenario(foldRun(closed, endOf(closed.context, 0)))
    },
  }
}
