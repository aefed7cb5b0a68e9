import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endOf, isEndOf } from '../../../src/machines/agent/context.ts'
import type { RunEvent } from '../../../src/machines/agent/events.ts'
import { foldRun } from '../../../src/machines/agent/fold.ts'
import { given, statusAtEnd } from '../../helpers/given.ts'
import {
  alone,
  backgrounded,
  call,
  callEnded,
  callStarted,
  faulted,
  killed,
  prepared,
  processStarted,
  RUN,
  replied,
  requestFailed,
  resumed,
  started,
  suspended,
} from '../../helpers/run-events.ts'
import { everyEvent, walks } from '../../helpers/run-walks.ts'

/** A run whose first request is out. */
const asked = [started(), prepared()]

/** Histories that lead into each phase that a kill or a fault can hit. */
const LIVE: readonly [name: string, history: readonly RunEvent[]][] = [
  ['awaiting its prompt', []],
  ['preparing', [started()]],
  ['requesting', asked],
  ['requesting in the background', [...asked, backgrounded()]],
  ['acting', [...asked, replied({ at: 3, calls: ['Read', 'Read', alone('Bash')] }), callStarted(call(3))]],
  ['acting in the background', [...asked, replied({ at: 3, calls: [alone('Bash')] }), backgrounded()]],
]

describe('a kill', () => {
  it.each(LIVE)('ends a run that is %s, through settling, and stops all its effects', (_, history) => {
    const settling = given(...history, killed('the user', 'wrong branch'))
    expect(settling).toMatchObject({
      phase: 'draining',
      effects: ['drain'],
      outcome: { kind: 'killed', by: 'the user', reason: 'wrong branch' },
    })
    expect(statusAtEnd(settling.drained())).toBe('killed')
  })

  it('says nothing of a reason when there is none', () => {
    expect(given(killed('lead')).outcome).toStrictEqual({ kind: 'killed', by: 'lead' })
  })

  it.each<[string, RunEvent]>([
    ['completed', replied({ at: 3, says: 'done' })],
    ['failed', requestFailed()],
  ])('comes too late for a run that is settling as %s', (status, last) => {
    const settling = given(...asked, last)
    expect(settling.when(killed()).run).toBe(settling.run)
    expect(statusAtEnd(settling.when(killed()).drained())).toBe(status)
  })

  it('is the outcome, whatever fault or kill follows', () => {
    const settling = given(...asked, killed('first')).when(faulted(), killed('second'))
    expect(settling.outcome).toEqual({ kind: 'killed', by: 'first' })
    expect(statusAtEnd(settling.drained())).toBe('killed')
  })
})

describe('a fault', () => {
  it.each(LIVE)('ends a run that is %s as failed, through settling', (_, history) => {
    const settling = given(...history, faulted('bug'))
    expect(settling).toMatchObject({
      phase: 'draining',
      effects: ['drain'],
      outcome: { kind: 'failed', fault: { code: 'bug' } },
    })
    expect(statusAtEnd(settling.drained())).toBe('failed')
  })

  it('while settling is recorded and changes nothing, the drain goes on', () => {
    const settling = given(...asked, replied({ at: 3, says: 'done' }))
    const after = settling.when(faulted())
    expect(after.run).toBe(settling.run)
    expect(statusAtEnd(after.drained())).toBe('completed')
  })
})

describe('settling', () => {
  const settling = given(...asked, replied({ at: 3, calls: ['Read', alone('Bash')] }), killed())

  it('takes the results of the calls that were open, and counts the refused ones', () => {
    const after = settling.when(
      processStarted(call(3)),
      callEnded(call(3), 'interrupted'),
      callEnded(call(3, 1), 'denied'),
    )
    expect(after).toMatchObject({ phase: 'draining', effects: ['drain'], openCalls: [] })
    expect(after.run.context.denials).toEqual({ Bash: 1 })
  })

  it('starts no call: not when a place is free, not when one says that it started', () => {
    expect(settling.when(callEnded(call(3))).effects).toEqual(['drain'])
    expect(settling.when(callStarted(call(3))).run).toBe(settling.run)
  })

  it('does not end while a call is open: each has a result before the end', () => {
    const early = settling.when(endOf(settling.run.context, 0))
    expect(early).toMatchObject({ phase: 'draining', openCalls: [call(3), call(3, 1)] })
    expect(settling.drained()).toMatchObject({ phase: 'killed', openCalls: [] })
  })

  it('takes no end but the one that its outcome means', () => {
    const closed = settling.when(callEnded(call(3)), callEnded(call(3, 1)))
    const wrong = { ...endOf(closed.run.context, 0), status: 'completed' as const }
    expect(closed.when(wrong).run).toBe(closed.run)
  })
})

describe('an end', () => {
  it('absorbs everything (law 4)', () => {
    fc.assert(
      fc.property(walks(40), (events) => {
        const { run } = given()
          .when(...events, killed())
          .drained()
        expect(run.status).toBe('done')
        for (const event of everyEvent(run, 50_000)) expect(foldRun(run, event), event.type).toBe(run)
      }),
      { numRuns: 50 },
    )
  })

  it('says what the run remembers', () => {
    const { run } = given(
      ...asked,
      replied({ at: 3, calls: ['Read'] }),
      callEnded(call(3)),
      killed('the user'),
    )
    expect(endOf(run.context, 1_234)).toEqual({
      type: 'agent.ended',
      run: RUN,
      status: 'killed',
      outcome: { kind: 'killed', by: 'the user' },
      turns: 1,
      toolUses: 1,
      usage: { input_tokens: 100, output_tokens: 10 },
      totalUsage: { input_tokens: 100, output_tokens: 10 },
      durationMs: 1_234,
    })
  })

  it('of a run without an outcome is a failure that says so, and none that the machine would take', () => {
    const { context } = given(...asked).run
    const fault = {
      code: 'ended-without-outcome',
      message: 'the run ended without an outcome',
      retryable: false,
    }
    expect(endOf(context, 0)).toMatchObject({ status: 'failed', outcome: { kind: 'failed', fault } })
    expect(isEndOf(context, { type: 'agent.ended', status: 'failed' }, 'failed')).toBe(false)
  })

  it('is what is called an end, whatever else bears its status', () => {
    const { context } = given(...asked, killed('the user')).run
    expect(isEndOf(context, { type: 'agent.ended', status: 'killed' }, 'killed')).toBe(true)
    expect(isEndOf(context, { type: 'run.resumed', status: 'killed' }, 'killed')).toBe(false)
  })
})

describe('a stop of the process', () => {
  it.each(LIVE)('changes nothing of a run that is %s, and neither does its resume', (_, history) => {
    const before = given(...history)
    expect(before.when(suspended(), resumed()).run).toBe(before.run)
  })
})
