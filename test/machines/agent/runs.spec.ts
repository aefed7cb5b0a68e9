import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addUsage, endOf } from '../../../src/machines/agent/context.ts'
import { callActorId } from '../../../src/machines/agent/effects.ts'
import { agentMachine } from '../../../src/machines/agent/machine.ts'
import type { CallId } from '../../../src/machines/ids.ts'
import { given, statusAtEnd } from '../../helpers/given.ts'
import {
  AGENT,
  alone,
  call,
  callEnded,
  callStarted,
  prepared,
  RUN,
  replied,
  requestFailed,
  started,
} from '../../helpers/run-events.ts'

/** A run whose first request is out. */
const asked = [started(), prepared()]
const effectsOf = (...calls: readonly CallId[]): string[] => calls.map(callActorId)

describe('a run', () => {
  it('wants nothing before its prompt, is then prepared, then asks the model', () => {
    expect(given()).toMatchObject({ phase: 'awaitingPrompt', effects: [] })
    expect(given(started())).toMatchObject({ phase: 'preparing', effects: ['prepare'] })
    expect(given(...asked)).toMatchObject({ phase: 'requesting', effects: ['requestModel'] })
  })

  it('completes with a reply that asks for nothing, after its effects came to rest', () => {
    const settling = given(...asked, replied({ at: 3, says: 'Paris' }))
    expect(settling).toMatchObject({ phase: 'draining', effects: ['drain'], outcome: { kind: 'completed' } })
    expect(settling.drained()).toMatchObject({ phase: 'completed', effects: [] })
  })

  it('acts, then asks again, as often as the model wants calls', () => {
    const acting = given(...asked, replied({ at: 3, calls: ['Read'] }))
    expect(acting).toMatchObject({ phase: 'acting', effects: effectsOf(call(3)) })
    const again = acting.when(callStarted(call(3)), callEnded(call(3)))
    expect(again).toMatchObject({ phase: 'requesting', effects: ['requestModel'], openCalls: [] })
    const more = again.when(
      replied({ at: 6, calls: ['Read'] }),
      callEnded(call(6)),
      replied({ at: 9, says: 'so' }),
    )
    expect(more.outcome).toEqual({ kind: 'completed' })
    expect(more.run.context).toMatchObject({ turns: 3, toolUses: 2 })
  })

  it('gives every effect its ids and nothing else', () => {
    const { run } = given(...asked, replied({ at: 3, calls: ['Read'] }))
    expect(agentMachine.getPersistedSnapshot(run)).toMatchObject({
      children: {
        [callActorId(call(3))]: {
          src: 'runCall',
          snapshot: { input: { agentId: AGENT, run: RUN, callId: call(3) } },
        },
      },
    })
  })

  it('adds up what its requests used', () => {
    const { run } = given(
      ...asked,
      replied({ at: 3, calls: ['Read'] }),
      callEnded(call(3)),
      replied({ at: 5 }),
    )
    expect(run.context.usage).toEqual({ input_tokens: 100, output_tokens: 10 })
    expect(run.context.totalUsage).toMatchObject({ input_tokens: 200, output_tokens: 20 })
  })
})

describe('a sum of usages', () => {
  it('has the counts of the cache only where there are any', () => {
    const plain = { input_tokens: 1, output_tokens: 2 }
    expect(addUsage(plain, plain)).toStrictEqual({ input_tokens: 2, output_tokens: 4 })
    expect(addUsage({ ...plain, cache_read_input_tokens: 5 }, plain)).toStrictEqual({
      input_tokens: 2,
      output_tokens: 4,
      cache_read_input_tokens: 5,
    })
    const cached = { ...plain, cache_creation_input_tokens: 3, cache_read_input_tokens: 5 }
    expect(addUsage(cached, { ...cached, cache_creation_input_tokens: 4 })).toStrictEqual({
      input_tokens: 2,
      output_tokens: 4,
      cache_creation_input_tokens: 7,
      cache_read_input_tokens: 10,
    })
  })

  it('leaves out what cannot be added', () => {
    const server = { input_tokens: 1, output_tokens: 2, service_tier: 'standard' }
    expect(addUsage(server, server)).toStrictEqual({ input_tokens: 2, output_tokens: 4 })
  })
})

describe('the calls of a reply', () => {
  it('run side by side when they are safe, ten at once, the next when one of them ends', () => {
    const twelve = Array.from({ length: 12 }, () => 'Read')
    const acting = given(...asked, replied({ at: 20, calls: twelve }))
    const ids = twelve.map((_, i) => call(20, i))
    expect(acting.effects).toEqual(effectsOf(...ids.slice(0, 10)))
    const next = acting.when(callEnded(call(20, 4)))
    expect(next.effects).toEqual(effectsOf(...ids.filter((_, i) => i !== 4 && i !== 11)))
  })

  it('run alone and in order when they are not', () => {
    const acting = given(...asked, replied({ at: 3, calls: [alone('Bash'), alone('Edit'), 'Read', 'Grep'] }))
    expect(acting.effects).toEqual(effectsOf(call(3, 0)))
    const edit = acting.when(callEnded(call(3, 0)))
    expect(edit.effects).toEqual(effectsOf(call(3, 1)))
    const reads = edit.when(callEnded(call(3, 1)))
    expect(reads.effects).toEqual(effectsOf(call(3, 2), call(3, 3)))
  })

  it('wait behind one that must be alone, even when they are safe', () => {
    const acting = given(...asked, replied({ at: 3, calls: ['Read', alone('Bash'), 'Grep'] }))
    expect(acting.effects).toEqual(effectsOf(call(3, 0)))
    expect(acting.when(callEnded(call(3, 0))).effects).toEqual(effectsOf(call(3, 1)))
  })

  it('may end in any order: the turn ends with the last result, whichever it is', () => {
    const ids = [call(3, 0), call(3, 1), call(3, 2)]
    const acting = given(...asked, replied({ at: 3, calls: ['Read', 'Read', 'Read'] }))
    fc.assert(
      fc.property(fc.shuffledSubarray(ids, { minLength: ids.length }), (order) => {
        order.reduce((run, id, i) => {
          expect(run.phase).toBe('acting')
          const next = run.when(callEnded(id))
          expect(next.effects).toEqual(
            i === 2
              ? ['requestModel']
              : effectsOf(...ids.filter((each) => !order.slice(0, i + 1).includes(each))),
          )
          return next
        }, acting)
      }),
    )
  })

  it('end also without having started: refused, or interrupted before their turn came', () => {
    const acting = given(...asked, replied({ at: 3, calls: [alone('Bash'), alone('Edit')] }))
    const rest = acting.when(callEnded(call(3, 1), 'interrupted'))
    expect(rest).toMatchObject({ phase: 'acting', effects: effectsOf(call(3, 0)), openCalls: [call(3, 0)] })
    expect(rest.when(callEnded(call(3, 0), 'denied')).phase).toBe('requesting')
  })

  it('count by tool when they were refused', () => {
    const { run } = given(
      ...asked,
      replied({ at: 3, calls: ['Read', 'Read', 'Grep', 'Glob'] }),
      callEnded(call(3, 0), 'denied'),
      callEnded(call(3, 1), 'denied'),
      callEnded(call(3, 2), 'denied'),
      callEnded(call(3, 3), 'error'),
      replied({ at: 9, says: 'I may not' }),
    )
    expect(run.context.denials).toEqual({ Read: 2, Grep: 1 })
    expect(endOf(run.context, 5).denials).toEqual({ Read: 2, Grep: 1 })
  })

  it('are taken up by no second reply, and by no result for another call', () => {
    const acting = given(...asked, replied({ at: 3, calls: ['Read'] }))
    expect(acting.when(replied({ at: 9, says: 'impatient' }), callEnded(call(9))).run).toBe(acting.run)
  })
})

describe('the outcome', () => {
  it('is a limit when the turns are used up, after the results of the last one', () => {
    const limited = [started({ maxTurns: 2 }), prepared()]
    const first = given(...limited, replied({ at: 3, calls: ['Read'] }), callEnded(call(3)))
    expect(first.phase).toBe('requesting')
    const last = first.when(replied({ at: 6, says: 'one more', calls: ['Read'] }))
    expect(last.phase).toBe('acting')
    const settling = last.when(callEnded(call(6, 1)))
    expect(settling).toMatchObject({ phase: 'draining', outcome: { kind: 'limit', limit: 'turns' } })
    expect(settling.run.context.report).toBe(6)
    expect(statusAtEnd(settling.drained())).toBe('completed')
  })

  it('is no limit when the last turn allowed is the answer', () => {
    const { outcome } = given(started({ maxTurns: 1 }), prepared(), replied({ at: 3, says: 'done' }))
    expect(outcome).toEqual({ kind: 'completed' })
  })

  it('is partial when the reply was cut', () => {
    const settling = given(...asked, replied({ at: 3, says: 'half an ans', stop: 'max_tokens' }))
    expect(settling.outcome).toEqual({ kind: 'partial' })
    expect(statusAtEnd(settling.drained())).toBe('completed')
  })

  it('waits for the calls of a reply that was cut after them', () => {
    const acting = given(...asked, replied({ at: 3, calls: ['Read'], stop: 'max_tokens' }))
    expect(acting).toMatchObject({ phase: 'acting', effects: effectsOf(call(3)) })
  })

  it('is not decided by a pause: the model is asked again, as a new turn', () => {
    const again = given(...asked, replied({ at: 3, says: 'searching', stop: 'pause_turn' }))
    expect(again).toMatchObject({ phase: 'requesting', effects: ['requestModel'] })
    expect(again.run.context.turns).toBe(1)
  })

  it('is a limit when a pause used up the last turn', () => {
    const paused = replied({ at: 3, says: 'searching', stop: 'pause_turn' })
    expect(given(started({ maxTurns: 1 }), prepared(), paused).outcome).toEqual({
      kind: 'limit',
      limit: 'turns',
    })
  })

  it.each([[[]], [['Read']]])(
    'is failed when the model refused, whatever calls it asked for: %j',
    (calls) => {
      const settling = given(...asked, replied({ at: 3, says: 'no', calls, stop: 'refusal' }))
      expect(settling).toMatchObject({ phase: 'draining', effects: ['drain'] })
      expect(settling.outcome).toMatchObject({ kind: 'failed', fault: { code: 'refused', retryable: false } })
      expect(statusAtEnd(settling.drained())).toBe('failed')
    },
  )

  it('is failed with the fault of the request when the model could not be reached', () => {
    const { fault } = requestFailed('overloaded')
    const settling = given(...asked, requestFailed('overloaded'))
    expect(settling).toMatchObject({ phase: 'draining', outcome: { kind: 'failed', fault } })
    expect(statusAtEnd(settling.drained())).toBe('failed')
  })

  it.each([
    ['no block', undefined],
    ['blanks', ' \n\t'],
  ])('is no_report when the model never said a word: %s', (_, says) => {
    const settling = given(...asked, replied({ at: 3, ...(says !== undefined && { says }) }))
    expect(settling.outcome).toEqual({ kind: 'no_report' })
    expect(statusAtEnd(settling.drained())).toBe('completed')
  })

  it('is completed when only the last reply is empty: the report is the last reply with text', () => {
    const { outcome, run } = given(
      ...asked,
      replied({ at: 3, says: 'the answer is 4', calls: ['Read'] }),
      callEnded(call(3, 1)),
      replied({ at: 6, calls: ['Read'] }),
      callEnded(call(6)),
      replied({ at: 8 }),
    )
    expect(outcome).toEqual({ kind: 'completed' })
    expect(run.context.report).toBe(3)
  })

  it('of a stop reason that this version does not know is as of end_turn', () => {
    const { outcome } = given(...asked, replied({ at: 3, says: 'done', stop: 'a_reason_of_the_future' }))
    expect(outcome).toEqual({ kind: 'completed' })
  })
})
