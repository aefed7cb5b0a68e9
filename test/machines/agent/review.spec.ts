/** The review of a run's work as the machine sees it: who has one, and that no end comes before it (M6). */
import { describe, expect, it } from 'vitest'
import { accepts } from '../../../src/machines/agent/accepts.ts'
import { endOf } from '../../../src/machines/agent/context.ts'
import { isBetweenRuns } from '../../../src/machines/agent/fold.ts'
import { given, statusAtEnd } from '../../helpers/given.ts'
import {
  backgrounded,
  call,
  callClassified,
  callEnded,
  drained,
  killed,
  prepared,
  replied,
  requestFailed,
  reviewEnded,
  reviewRequested,
  started,
  stopBlocked,
} from '../../helpers/run-events.ts'

const reviewed = [started(), prepared(undefined, true)]
const done = replied({ at: 3, says: 'done' })
const handingIn = given(...reviewed, done)

describe('a run that is to be reviewed', () => {
  it('is reviewed when it hands in, and ends behind the verdict', () => {
    const reviewing = handingIn.when(reviewRequested())
    expect(reviewing).toMatchObject({ phase: 'reviewing', effects: ['review'] })
    const judged = reviewing.when(reviewEnded({ kind: 'block', reason: 'it stole the keys' }))
    expect(judged.phase).toBe('reviewing')
    expect(statusAtEnd(judged.when(endOf(judged.run.context, 0)))).toBe('completed')
  })

  it('does not end without it: not from draining, not from its stop hooks, not while it is made', () => {
    for (const scenario of [handingIn, handingIn.when(drained()), handingIn.when(reviewRequested())]) {
      const end = endOf(scenario.run.context, 0)
      expect(accepts(scenario.run, end)).toBe(false)
      expect(scenario.when(end).run).toBe(scenario.run)
    }
  })

  it('is looked at by its stop hooks first, which may send it back to work', () => {
    const back = handingIn.when(drained(), stopBlocked())
    expect(back.phase).toBe('requesting')
    expect(back.when(replied({ at: 9, says: 'better' }), drained(), reviewRequested()).phase).toBe(
      'reviewing',
    )
  })

  it('counts what the reviewer cost in its sum, and not as its last request', () => {
    const { context } = handingIn.when(reviewRequested(), reviewEnded()).run
    expect(context.usage).toEqual({ input_tokens: 100, output_tokens: 10 })
    expect(context.totalUsage).toEqual({ input_tokens: 107, output_tokens: 13 })
  })

  it('does not wait for the reviewer when it is killed; that it was given up is recorded', () => {
    const given = handingIn.when(reviewRequested(), killed())
    expect(given).toMatchObject({ phase: 'draining', effects: ['drain'], outcome: { kind: 'completed' } })
    expect(accepts(given.run, endOf(given.run.context, 0))).toBe(false)
    expect(accepts(given.run, reviewRequested())).toBe(false)
    const told = given.when(reviewEnded({ kind: 'unavailable', cause: 'stopped', why: 'it was killed' }))
    expect(statusAtEnd(told.when(endOf(told.run.context, 0)))).toBe('completed')
  })

  it('that is killed while its stop hooks look is not reviewed any more', () => {
    const hurried = handingIn.when(drained(), killed())
    expect(accepts(hurried.run, reviewRequested())).toBe(false)
    expect(accepts(hurried.run, reviewEnded())).toBe(true)
  })

  it('keeps a verdict that came just before the kill', () => {
    const late = handingIn.when(reviewRequested(), reviewEnded(), killed())
    expect(accepts(late.run, reviewEnded())).toBe(false)
    expect(statusAtEnd(late.when(endOf(late.run.context, 0)))).toBe('completed')
  })

  it.each([
    ['failed', [requestFailed()]],
    ['was killed', [killed()]],
    ['said nothing', [replied({ at: 3, says: ' ' })]],
  ])('and %s has nothing to hand in, so nothing to review', (_, events) => {
    const ending = given(...reviewed, ...events)
    expect(accepts(ending.run, reviewRequested())).toBe(false)
    expect(accepts(ending.run, endOf(ending.run.context, 0))).toBe(true)
  })
})

describe('any other run', () => {
  it('has no review and takes no verdict', () => {
    const plain = given(started(), prepared(), done)
    for (const event of [reviewRequested(), reviewEnded()]) expect(accepts(plain.run, event)).toBe(false)
    expect(accepts(plain.run, endOf(plain.run.context, 0))).toBe(true)
  })
})

describe('a verdict on a call', () => {
  const acting = given(started(), prepared(), replied({ at: 3, calls: ['Bash'] }))

  it('changes nothing of the call, and counts', () => {
    const judged = acting.when(callClassified(call(3)))
    expect(judged.run.context.calls).toEqual(acting.run.context.calls)
    expect(judged.run.context.totalUsage).toEqual({ input_tokens: 107, output_tokens: 13 })
  })

  it('is not taken for a call that has its result, or that was never made', () => {
    expect(accepts(acting.run, callClassified(call(3, 7)))).toBe(false)
    expect(accepts(acting.when(callEnded(call(3))).run, callClassified(call(3)))).toBe(false)
  })
})

describe('a run whose review may be deferred', () => {
  const prepare = prepared(undefined, 'deferrable')
  const behind = given(started({ background: true }), prepare, done)

  it('ends without it in the background, and its end says that it is owed', () => {
    for (const scenario of [behind, behind.when(drained())]) {
      expect(accepts(scenario.run, reviewRequested())).toBe(false)
      const end = endOf(scenario.run.context, 0)
      expect(end).toMatchObject({ status: 'completed', review: 'owed' })
      const { review: _, ...silent } = end
      expect(accepts(scenario.run, silent)).toBe(false)
      expect(statusAtEnd(scenario.when(silent, end))).toBe('completed')
    }
  })

  it('is reviewed before its end in the foreground', () => {
    const inFront = given(started(), prepare, done)
    const end = endOf(inFront.run.context, 0)
    expect(end).not.toHaveProperty('review')
    expect(accepts(inFront.run, end)).toBe(false)
    expect(accepts(inFront.run, { ...end, review: 'owed' })).toBe(false)
    expect(inFront.when(reviewRequested()).phase).toBe('reviewing')
    expect(accepts(inFront.when(drained(), killed()).run, reviewEnded())).toBe(true)
  })

  it('counts as in the background however late it was moved, and after it was sent back to work', () => {
    const moved = given(started(), prepare, backgrounded(), done)
    expect(endOf(moved.run.context, 0)).toMatchObject({ review: 'owed' })
    const back = moved.when(drained(), stopBlocked(), replied({ at: 9, says: 'better' }))
    expect(endOf(back.run.context, 0)).toMatchObject({ review: 'owed' })
  })

  it('need not give anything up when it is killed at its end: nobody waits for the review', () => {
    const hurried = behind.when(drained(), killed())
    expect(accepts(hurried.run, reviewEnded())).toBe(false)
    expect(statusAtEnd(hurried.when(endOf(hurried.run.context, 0)))).toBe('completed')
  })

  it('owes none when it has nothing to hand in', () => {
    const silent = given(started({ background: true }), prepare, replied({ at: 3, says: ' ' }))
    expect(endOf(silent.run.context, 0)).not.toHaveProperty('review')
    expect(statusAtEnd(silent.drained())).toBe('completed')
  })

  it('takes the verdict behind its end as a fact of the agent, and no other run does', () => {
    const ended = behind.drained()
    expect(isBetweenRuns(ended.run, reviewEnded())).toBe(true)
    for (const other of [
      behind,
      given(started(), prepare, done).drained(),
      given(started(), prepared(), done).drained(),
    ])
      expect(isBetweenRuns(other.run, reviewEnded())).toBe(false)
  })
})
