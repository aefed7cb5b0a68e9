import { describe, expect, it } from 'vitest'
import { endOf } from '../../../src/machines/agent/context.ts'
import type { RunEvent } from '../../../src/machines/agent/events.ts'
import { given } from '../../helpers/given.ts'
import type { LiveRun } from '../../helpers/live-run.ts'
import { live } from '../../helpers/live-run.ts'
import {
  alone,
  backgrounded,
  call,
  callEnded,
  killed,
  prepared,
  replied,
  started,
} from '../../helpers/run-events.ts'

/** A run whose first request is out. */
const asked = [started(), prepared()]

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
