import { describe, expect, it } from 'vitest'
import { given } from '../../helpers/given.ts'
import {
  alone,
  budgetRefused,
  budgetWarned,
  call,
  callEnded,
  childLaunched,
  prepared,
  replied,
  started,
  timeExpired,
} from '../../helpers/run-events.ts'

const asked = [started(), prepared()]
const OUT_OF_TIME = { kind: 'limit', limit: 'time' }

describe('a budget of a run', () => {
  it.each(['tokens', 'money', 'time'] as const)('of %s ends it with what there is', (limit) => {
    const settling = given(
      ...asked,
      replied({ at: 3, says: 'so far', calls: ['Read'] }),
      callEnded(call(3, 1)),
      budgetRefused(limit),
    )
    expect(settling).toMatchObject({ phase: 'draining', outcome: { kind: 'limit', limit } })
    expect(settling.run.context.report).toBe(3)
    expect(settling.drained()).toMatchObject({ phase: 'completed' })
  })

  it('may be nearly spent without any consequence', () => {
    const before = given(...asked)
    expect(before.when(budgetWarned()).run.context).toEqual(before.run.context)
  })
})

describe('the running time of a run', () => {
  it('lets a request be answered; an answer that asks for nothing is the end as ever', () => {
    const late = given(...asked, timeExpired())
    expect(late).toMatchObject({ phase: 'requesting', effects: ['requestModel'] })
    expect(late.when(replied({ at: 3, says: 'done' })).outcome).toEqual({ kind: 'completed' })
  })

  it('lets no call begin that is asked for too late', () => {
    const settling = given(...asked, timeExpired(), replied({ at: 3, calls: ['Read'] }))
    expect(settling).toMatchObject({ phase: 'draining', outcome: OUT_OF_TIME, effects: ['drain'] })
    expect(settling.openCalls).toEqual([call(3)])
    expect(settling.drained()).toMatchObject({ phase: 'completed' })
  })

  it('waits for the calls that run and begins no other', () => {
    const acting = given(...asked, replied({ at: 3, calls: [alone('Bash'), 'Read'] }), timeExpired())
    expect(acting).toMatchObject({ phase: 'acting' })
    const settling = acting.when(callEnded(call(3)))
    expect(settling).toMatchObject({ phase: 'draining', outcome: OUT_OF_TIME, openCalls: [call(3, 1)] })
  })

  it('ends a run that waits, at once', () => {
    const waiting = given(...asked, childLaunched(), replied({ at: 3, says: 'I wait' }))
    expect(waiting.phase).toBe('waiting')
    expect(waiting.when(timeExpired())).toMatchObject({ phase: 'draining', outcome: OUT_OF_TIME })
    const late = given(...asked, childLaunched(), timeExpired(), replied({ at: 3, says: 'I wait' }))
    expect(late).toMatchObject({ phase: 'draining', outcome: OUT_OF_TIME })
  })

  it('ends it between two turns', () => {
    const paused = given(...asked, timeExpired(), replied({ at: 3, says: 'hm', stop: 'pause_turn' }))
    expect(paused).toMatchObject({ phase: 'draining', outcome: OUT_OF_TIME })
  })
})
