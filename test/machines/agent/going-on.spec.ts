/** When a run goes on although it could end, and ends although it could go on. */
import { describe, expect, it } from 'vitest'
import { accepts } from '../../../src/machines/agent/accepts.ts'
import { given } from '../../helpers/given.ts'
import {
  alone,
  backgrounded,
  budgetRefused,
  call,
  callEnded,
  callStarted,
  childLaunched,
  compacted,
  compactionFailed,
  contextExceeded,
  drained,
  killed,
  messageAccepted,
  prepared,
  progressSummarised,
  replied,
  reportAccepted,
  reportRejected,
  requestFailed,
  started,
  stopAgreed,
  stopBlocked,
  timeExpired,
} from '../../helpers/run-events.ts'

const asked = [started(), prepared()]

describe('a report', () => {
  const silent = replied({ at: 3 })
  const said = replied({ at: 3, says: 'found it' })

  it('is looked at when a schema is asked for, and when there is none and one may be asked for again', () => {
    const withSchema = [started(), prepared({ hasSchema: true, corrections: 0 })]
    const withCorrections = [started(), prepared({ hasSchema: false, corrections: 1 })]
    expect(given(...withSchema, said)).toMatchObject({ phase: 'checking', effects: ['checkReport'] })
    expect(given(...withSchema, silent).phase).toBe('checking')
    expect(given(...withCorrections, silent).phase).toBe('checking')
    expect(given(...withCorrections, said)).toMatchObject({
      phase: 'draining',
      outcome: { kind: 'completed' },
    })
    expect(given(...asked, silent)).toMatchObject({ phase: 'draining', outcome: { kind: 'no_report' } })
  })

  it('that is rejected is asked for again as often as there are corrections', () => {
    const checking = given(started(), prepared({ hasSchema: true, corrections: 1 }), said)
    const again = checking.when(reportRejected())
    expect(again).toMatchObject({ phase: 'requesting', effects: ['requestModel'] })
    expect(again.run.context.corrections).toBe(0)
    const second = again.when(replied({ at: 6, says: 'now?' }))
    expect(accepts(second.run, reportRejected())).toBe(false)
    expect(second.when(reportRejected()).phase).toBe('checking')
    expect(second.when(reportAccepted('no JSON')).outcome).toEqual({
      kind: 'invalid_report',
      problem: 'no JSON',
    })
  })

  it('that is accepted without a word is none', () => {
    const checking = given(started(), prepared({ hasSchema: false, corrections: 1 }), silent)
    expect(checking.when(reportAccepted()).outcome).toEqual({ kind: 'no_report' })
  })
})

describe('a run that has agreed to stop', () => {
  const acting = [...asked, replied({ at: 3, says: 'so far', calls: ['SendMessage', 'Read'] })]
  const silent = [...asked, replied({ at: 3, calls: ['SendMessage', 'Read'] })]

  it('makes no further request: it completes when the calls of its turn have results', () => {
    const agreed = given(...acting, stopAgreed(call(3, 1)))
    expect(agreed).toMatchObject({ phase: 'acting', outcome: undefined })
    expect(agreed.run.context.parting).toBe('lastText')
    expect(agreed.when(callEnded(call(3, 2)))).toMatchObject({
      phase: 'draining',
      outcome: { kind: 'completed' },
    })
  })

  it('reads nothing more, and waits for nobody', () => {
    const agreed = given(...acting, childLaunched(), messageAccepted(), stopAgreed(call(3, 1)))
    expect(agreed.when(callEnded(call(3, 2)))).toMatchObject({
      phase: 'draining',
      outcome: { kind: 'completed' },
    })
  })

  it('has a report if it has said something, or gives a reason', () => {
    const parted = (reason?: string) => given(...silent, callEnded(call(3, 1)), stopAgreed(call(3), reason))
    expect(parted().outcome).toEqual({ kind: 'no_report' })
    expect(parted('nothing left to do').outcome).toEqual({ kind: 'completed' })
    expect(parted('nothing left to do').run.context.parting).toBe('reason')
  })

  it('whose report has a schema has it looked at, and is asked for no better one', () => {
    const checking = given(
      started(),
      prepared({ hasSchema: true, corrections: 2 }),
      replied({ at: 3, says: 'so far', calls: ['SendMessage'] }),
      stopAgreed(call(3, 1)),
    )
    expect(checking).toMatchObject({ phase: 'checking', effects: ['checkReport'] })
    expect(accepts(checking.run, reportRejected())).toBe(false)
  })

  it('has not, when it has refused', () => {
    const refused = given(...acting, callEnded(call(3, 2))).when({
      ...stopAgreed(call(3, 1)),
      answers: { requestId: 'x', approve: false },
    })
    expect(refused).toMatchObject({ phase: 'requesting', outcome: undefined })
    expect(refused.run.context.parting).toBe('none')
  })

  it('and is sent back to work by a hook has agreed to nothing', () => {
    const stopping = given(...acting, callEnded(call(3, 2)), stopAgreed(call(3, 1), 'done'), drained())
    expect(stopping.when(stopBlocked()).run.context).toMatchObject({ parting: 'none', outcome: undefined })
  })
})

describe('a stop hook', () => {
  const stopping = [...asked, replied({ at: 3, says: 'done' }), drained()]

  it('sends a run back to work where it was', () => {
    const again = given(...stopping).when(stopBlocked())
    expect(again).toMatchObject({ phase: 'requesting', outcome: undefined, effects: ['requestModel'] })
    expect(again.run.value).toEqual({ running: { turn: 'requesting', placement: 'foreground' } })
    expect(again.run.context.stopBlocks).toBe(1)
    const moved = given(...asked, backgrounded(), replied({ at: 3, says: 'done' }), drained(), stopBlocked())
    expect(moved.run.value).toEqual({ running: { turn: 'requesting', placement: 'backgrounded' } })
    const born = given(started({ background: true }), prepared(), replied({ at: 3, says: 'done' }), drained())
    expect(born.when(stopBlocked()).run.value).toEqual({
      running: { turn: 'requesting', placement: 'backgrounded' },
    })
  })

  it.each([
    ['completed', prepared(), [replied({ at: 3, says: 'done' })]],
    ['partial', prepared(), [replied({ at: 3, says: 'cut of', stop: 'max_tokens' })]],
    ['no_report', prepared(), [replied({ at: 3 })]],
    [
      'invalid_report',
      prepared({ hasSchema: true, corrections: 0 }),
      [replied({ at: 3, says: 'done' }), reportAccepted('no JSON')],
    ],
  ] as const)('sends one back that has come to its end by itself: %s', (kind, preparation, rest) => {
    const ended = given(started(), preparation, ...rest, drained())
    expect(ended.outcome?.kind).toBe(kind)
    expect(accepts(ended.run, stopBlocked())).toBe(true)
    expect(ended.when(stopBlocked()).phase).toBe('requesting')
  })

  it.each([
    ['killed', killed()],
    ['failed', requestFailed()],
    ['ended by a limit', budgetRefused()],
  ])('sends no run back that was %s', (_, wayOut) => {
    for (const background of [true, false]) {
      const ended = given(started({ background }), prepared(), wayOut, drained())
      expect(accepts(ended.run, stopBlocked())).toBe(false)
      expect(ended.when(stopBlocked())).toMatchObject({ phase: 'stopping', outcome: ended.outcome })
    }
  })
})

describe('a conversation that is too long', () => {
  it('is summed up, and the request is made again', () => {
    const compacting = given(...asked, contextExceeded())
    expect(compacting).toMatchObject({ phase: 'compacting', effects: ['compact'] })
    const after = compacting.when(compacted())
    expect(after).toMatchObject({ phase: 'requesting', effects: ['requestModel'] })
    expect(after.run.context.cannotCompact).toBe(false)
    expect(after.run.context.totalUsage).toEqual({ input_tokens: 1_000, output_tokens: 100 })
  })

  it('goes on as it is when it cannot be summed up, which is not tried again', () => {
    const usage = { 'a-model': { input_tokens: 5, output_tokens: 1 } }
    const after = given(...asked, contextExceeded(), { ...compactionFailed(), modelUsage: usage })
    expect(after.phase).toBe('requesting')
    expect(after.run.context).toMatchObject({ cannotCompact: true, totalUsage: { input_tokens: 5 } })
  })

  it('is a limit when the server refuses it; any other refusal is a failure', () => {
    expect(given(...asked, requestFailed('context-exceeded')).outcome).toMatchObject({
      kind: 'limit',
      limit: 'context',
    })
    expect(given(...asked, requestFailed('unreachable')).outcome).toMatchObject({ kind: 'failed' })
  })

  it('is paid for, as a line on its progress is', () => {
    expect(given(...asked, progressSummarised()).run.context.totalUsage).toEqual({
      input_tokens: 10,
      output_tokens: 2,
    })
  })
})

describe('the calls of a turn', () => {
  it('are marked as started one by one, those whose turn has come', () => {
    const acting = given(...asked, replied({ at: 3, calls: ['Read', 'Read', alone('Bash')] }))
    const phases = (scenario: typeof acting) => scenario.run.context.calls.map(({ phase }) => phase)
    expect(phases(acting)).toEqual(['requested', 'requested', 'waiting'])
    expect(phases(acting.when(callStarted(call(3, 1))))).toEqual(['requested', 'started', 'waiting'])
    expect(accepts(acting.run, callStarted(call(3, 2)))).toBe(false)
    expect(phases(acting.when(callStarted(call(3, 2))))).toEqual(phases(acting))
  })

  it('stop with their results, each its own', () => {
    const acting = given(...asked, replied({ at: 3, calls: ['Read', 'Read'] }))
    expect(acting.effects).toHaveLength(2)
    const [, second] = acting.effects
    expect(acting.when(callEnded(call(3))).effects).toEqual([second])
  })

  it('that run when the time is up are waited for, all of them', () => {
    const acting = given(...asked, replied({ at: 3, calls: ['Read', 'Read', alone('Bash')] }), timeExpired())
    const one = acting.when(callEnded(call(3)))
    expect(one).toMatchObject({ phase: 'acting', outcome: undefined })
    expect(one.when(callEnded(call(3, 1)))).toMatchObject({
      phase: 'draining',
      outcome: { kind: 'limit', limit: 'time' },
      openCalls: [call(3, 2)],
    })
  })
})
