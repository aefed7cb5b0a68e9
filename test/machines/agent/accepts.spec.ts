import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Phase } from '../../../src/machines/agent/accepts.ts'
import { ACCEPTED, accepts, phaseOf } from '../../../src/machines/agent/accepts.ts'
import type { RunEvent, RunEventType } from '../../../src/machines/agent/events.ts'
import type { RunSnapshot } from '../../../src/machines/agent/fold.ts'
import { beginRun, foldRun } from '../../../src/machines/agent/fold.ts'
import { agentMachine } from '../../../src/machines/agent/machine.ts'
import { given } from '../../helpers/given.ts'
import {
  AGENT,
  alone,
  backgrounded,
  call,
  callEnded,
  callStarted,
  childLaunched,
  contextExceeded,
  drained,
  faulted,
  killed,
  prepared,
  RUN,
  replied,
  resumed,
  reviewEnded,
  reviewRequested,
  started,
  suspended,
} from '../../helpers/run-events.ts'
import { everyEvent, walks } from '../../helpers/run-walks.ts'

const AT = 3
const requesting = [started(), prepared()]
const checking = (corrections: number) => [
  started(),
  prepared({ hasSchema: true, corrections }),
  replied({ at: AT, says: 'done' }),
]
const waiting = [...requesting, childLaunched(), replied({ at: AT, says: 'I wait' })]
const acting = [...requesting, replied({ at: AT, calls: ['Read', alone('Bash')] })]

const handingIn = [started(), prepared(undefined, true), replied({ at: AT, says: 'done' })]
const deferring = [
  started({ background: true }),
  prepared(undefined, 'deferrable'),
  replied({ at: AT, says: 'done' }),
]

/** Runs in every phase; where placement or open calls make a difference, in each variant. */
const RUNS: readonly (readonly [name: string, phase: Phase, run: RunSnapshot])[] = (
  [
    ['before its prompt', 'awaitingPrompt', given()],
    ['preparing', 'preparing', given(started())],
    ['requesting', 'requesting', given(...requesting)],
    ['requesting in the background', 'requesting', given(...requesting, backgrounded())],
    ['compacting', 'compacting', given(...requesting, contextExceeded())],
    ['compacting in the background', 'compacting', given(...requesting, backgrounded(), contextExceeded())],
    ['acting', 'acting', given(...acting)],
    ['acting in the background', 'acting', given(...acting, backgrounded())],
    ['acting, a call started', 'acting', given(...acting, callStarted(call(AT)))],
    ['checking its report', 'checking', given(...checking(1))],
    ['checking its report for the last time', 'checking', given(...checking(0))],
    ['waiting', 'waiting', given(...waiting)],
    ['waiting in the background', 'waiting', given(...waiting, backgrounded())],
    ['draining', 'draining', given(...requesting, replied({ at: AT, says: 'done' }))],
    ['draining with open calls', 'draining', given(...acting, killed())],
    ['stopping', 'stopping', given(...requesting, replied({ at: AT, says: 'done' }), drained())],
    ['stopping after a kill', 'stopping', given(...acting, killed(), drained())],
    ['draining, its work to be reviewed', 'draining', given(...handingIn)],
    ['stopping, its work to be reviewed', 'stopping', given(...handingIn, drained())],
    ['draining, its review given up', 'draining', given(...handingIn, reviewRequested(), killed())],
    ['reviewing', 'reviewing', given(...handingIn, reviewRequested())],
    ['draining, its review deferred', 'draining', given(...deferring)],
    ['reviewing, the verdict recorded', 'reviewing', given(...handingIn, reviewRequested(), reviewEnded())],
    ['completed', 'completed', given(...requesting, replied({ at: AT, says: 'done' })).drained()],
    ['failed', 'failed', given(...acting, faulted()).drained()],
    ['killed', 'killed', given(...acting, killed()).drained()],
  ] as const
).map(([name, phase, { run }]) => [name, phase, run])

/** What XState would do: whether the live run has a transition for the event whose guard passes. */
const takes = (run: RunSnapshot, event: RunEvent): boolean =>
  run.status === 'active' && agentMachine.getTransitionData(run, event).length > 0

const named = (event: RunEvent): string => JSON.stringify(event)

describe('the table of accepted events', () => {
  it.each(RUNS)('is tested with a run that is %s', (_, phase, run) => {
    expect(phaseOf(run)).toBe(phase)
  })

  it('is tested in every phase and with every type of event', () => {
    const phases = new Set(RUNS.map(([, phase]) => phase))
    expect(phases).toEqual(new Set(Object.values(ACCEPTED).flat().concat('completed', 'failed', 'killed')))
    const types = new Set(RUNS.flatMap(([, , run]) => everyEvent(run, AT + 10).map(({ type }) => type)))
    expect(types).toEqual(new Set(Object.keys(ACCEPTED)))
  })

  it.each(RUNS)('says of each event whether a run that is %s takes it', (_, __, run) => {
    const events = everyEvent(run, AT + 10)
    const wrong = events.filter((event) => accepts(run, event) !== takes(run, event)).map(named)
    expect(wrong).toEqual([])
  })

  it('lists a phase for a type exactly when some run in that phase takes some event of that type', () => {
    const taken = Object.fromEntries(Object.keys(ACCEPTED).map((type) => [type, new Set<Phase>()]))
    for (const [, phase, run] of RUNS) {
      for (const event of everyEvent(run, AT + 10)) if (takes(run, event)) taken[event.type]?.add(phase)
    }
    expect(taken).toEqual(
      Object.fromEntries(Object.entries(ACCEPTED).map(([type, phases]) => [type, new Set(phases)])),
    )
  })

  it('is right at every step of any walk, and what it refuses leaves the very same snapshot', () => {
    fc.assert(
      fc.property(walks(30), (events) => {
        let run = beginRun(AGENT, RUN)
        events.forEach((event, i) => {
          for (const possible of everyEvent(run, 10_000 + i * 20)) {
            expect(accepts(run, possible), named(possible)).toBe(takes(run, possible))
            if (!accepts(run, possible)) expect(foldRun(run, possible)).toBe(run)
          }
          run = foldRun(run, event)
        })
      }),
      { numRuns: 25 },
    )
  })
})

describe('what a run takes', () => {
  const refusedBy = (run: RunSnapshot, type: RunEventType): boolean =>
    everyEvent(run, AT + 10)
      .filter((event) => event.type === type)
      .every((event) => !accepts(run, event))

  it('no result for a call that was never made', () => {
    const { run } = given(...acting)
    expect(accepts(run, callEnded(call(AT)))).toBe(true)
    expect(accepts(run, callEnded(call(AT, 7)))).toBe(false)
  })

  it('no second result for a call', () => {
    const { run } = given(...acting, callEnded(call(AT)))
    expect(accepts(run, callEnded(call(AT)))).toBe(false)
    expect(accepts(run, callEnded(call(AT, 1)))).toBe(true)
  })

  it('no start of a call whose turn has not come, for it has no effect that could end it', () => {
    const { run } = given(...acting)
    expect(accepts(run, callStarted(call(AT)))).toBe(true)
    expect(accepts(run, callStarted(call(AT, 1)))).toBe(false)
    expect(accepts(run, callEnded(call(AT, 1), 'interrupted'))).toBe(true)
  })

  it('moves to the background once', () => {
    expect(refusedBy(given(...acting).run, 'agent.backgrounded')).toBe(false)
    expect(refusedBy(given(...acting, backgrounded()).run, 'agent.backgrounded')).toBe(true)
  })

  it('no kill while it settles: the outcome is decided', () => {
    expect(refusedBy(given(...acting, faulted()).run, 'kill.requested')).toBe(true)
  })

  // XState's own `can()` says no to both, because they change nothing.
  it.each([suspended(), resumed()])(
    '$type wherever it is still active, though it changes nothing',
    (event) => {
      for (const [name, , run] of RUNS) expect(accepts(run, event), name).toBe(run.status === 'active')
      expect(given(...acting).run.can(event)).toBe(false)
    },
  )
})
