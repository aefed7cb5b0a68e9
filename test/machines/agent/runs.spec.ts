import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endOf } from '../../../src/machines/agent/context.ts'
import type { RunEvent } from '../../../src/machines/agent/events.ts'
import { foldRun } from '../../../src/machines/agent/fold.ts'
import { agentMachine, callActorId } from '../../../src/machines/agent/machine.ts'
import type { CallId } from '../../../src/machines/ids.ts'
import { given, statusAtEnd } from '../../helpers/given.ts'
import type { LiveRun } from '../../helpers/live-run.ts'
import { live } from '../../helpers/live-run.ts'
import {
  AGENT,
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

  it('ends with calls still open, which a resume could not close any more', () => {
    expect(settling.drained()).toMatchObject({ phase: 'killed', openCalls: [call(3), call(3, 1)] })
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
      totalUsage: {
        input_tokens: 100,
        output_tokens: 10,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      },
      durationMs: 1_234,
    })
  })
})

describe('a stop of the process', () => {
  it.each(LIVE)('changes nothing of a run that is %s, and neither does its resume', (_, history) => {
    const before = given(...history)
    expect(before.when(suspended(), resumed()).run).toBe(before.run)
  })
})

/** A live run with a history. */
function liveWith(...history: readonly RunEvent[]): LiveRun {
  const run = live()
  for (const event of history) run.actor.send(event)
  return run
}

describe('a move to the background', () => {
  const acting = [...asked, replied({ at: 3, calls: ['Read', 'Read', alone('Bash')] })]

  it.each([
    ['requesting', asked],
    ['acting', acting],
  ] as const)('while %s leaves the effects of the turn untouched', (phase, history) => {
    const before = given(...history)
    const after = before.when(backgrounded())
    expect(after.phase).toBe(phase)
    expect(after.run.value).toEqual({ running: { turn: phase, placement: 'backgrounded' } })
    expect(after.effects).toEqual(before.effects)
    for (const id of before.effects) {
      expect(Object.is(childOf(after.run, id), childOf(before.run, id)), id).toBe(true)
    }
  })

  it.each([
    ['requesting', asked],
    ['acting', acting],
  ] as const)('while %s starts and stops nothing on a live run', (_, history) => {
    const { actor, log } = liveWith(...history)
    const [before, logBefore] = [actor.getSnapshot(), [...log]]
    actor.send(backgrounded())
    const after = actor.getSnapshot()
    expect(after.matches({ running: { placement: 'backgrounded' } })).toBe(true)
    for (const id of Object.keys(before.children))
      expect(Object.is(childOf(after, id), childOf(before, id))).toBe(true)
    expect(Object.keys(after.children)).toEqual(Object.keys(before.children))
    expect(log).toEqual(logBefore)
    actor.stop()
  })

  it('lasts for the rest of the run', () => {
    const later = given(...acting, backgrounded()).when(
      callEnded(call(3, 0)),
      callEnded(call(3, 1)),
      callEnded(call(3, 2)),
    )
    expect(later.run.value).toEqual({ running: { turn: 'requesting', placement: 'backgrounded' } })
  })
})

describe('the effects of a live run', () => {
  it('start and stop once each, in the order of the log', () => {
    const { actor, log } = liveWith(
      ...asked,
      replied({ at: 3, says: 'hold on', stop: 'pause_turn' }),
      replied({ at: 5, calls: ['Read', alone('Bash')] }),
      callEnded(call(5)),
      callEnded(call(5, 1)),
      replied({ at: 9, says: 'done' }),
    )
    actor.send(endOf(actor.getSnapshot().context, 0))
    expect(actor.getSnapshot()).toMatchObject({ status: 'done', value: 'completed' })
    expect(log).toEqual([
      ...['+ prepare', '- prepare'],
      ...['+ requestModel', '- requestModel'],
      ...['+ requestModel', '- requestModel'],
      ...['+ runCall 1.5.0', '- runCall 1.5.0'],
      ...['+ runCall 1.6.0', '- runCall 1.6.0'],
      ...['+ requestModel', '- requestModel'],
      ...['+ drain', '- drain'],
    ])
  })

  it('of open calls stop with a kill, before the drain begins', () => {
    const { actor, log } = liveWith(...asked, replied({ at: 3, calls: ['Read', 'Read', alone('Bash')] }))
    log.length = 0
    actor.send(killed())
    expect(log).toEqual(['- runCall 1.3.0', '- runCall 1.4.0', '+ drain'])
    actor.stop()
  })
})

function childOf(run: { readonly children: Readonly<Record<string, unknown>> }, id: string): unknown {
  const child = run.children[id]
  if (child === undefined) throw new Error(`the run has no effect ${id}`)
  return child
}
