import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunSnapshot } from '../../../src/machines/agent/fold.ts'
import { beginRun, foldRun } from '../../../src/machines/agent/fold.ts'
import { persistRun, reviveRun } from '../../../src/machines/agent/persist.ts'
import { wantedBy } from '../../helpers/live-run.ts'
import { AGENT, prepared, RUN, replied, started } from '../../helpers/run-events.ts'
import { walks } from '../../helpers/run-walks.ts'

/** All that a snapshot says, as plain data. */
const dataOf = (run: RunSnapshot) => ({
  value: run.value,
  status: run.status,
  context: run.context,
  effects: wantedBy(run),
})

const throughJson = (run: RunSnapshot): unknown => JSON.parse(JSON.stringify(persistRun(run)))

const acting = [started(), prepared(), replied({ at: 2, calls: ['Read', 'Grep'] })].reduce(
  foldRun,
  beginRun(AGENT, RUN),
)

describe('a run as JSON', () => {
  it('comes back as it was, and goes on as it would have, from any point of its life', () => {
    fc.assert(
      fc.property(walks(), fc.double({ min: 0, max: 1, noNaN: true }), (events, where) => {
        const cut = Math.floor(where * events.length)
        const before = events.slice(0, cut).reduce(foldRun, beginRun(AGENT, RUN))
        let revived = reviveRun(throughJson(before))
        let whole = before
        expect(dataOf(revived)).toStrictEqual(dataOf(whole))
        for (const event of events.slice(cut)) {
          revived = foldRun(revived, event)
          whole = foldRun(whole, event)
          expect(dataOf(revived)).toStrictEqual(dataOf(whole))
        }
      }),
      { numRuns: 40 },
    )
  })

  it('is refused with a state that the machine does not know', () => {
    const json = throughJson(acting) as { value: unknown }
    for (const value of ['nowhere', { running: { turn: 'nowhere', placement: 'foreground' } }, {}, 7]) {
      expect(() => reviveRun({ ...json, value }), JSON.stringify(value)).toThrow(
        /it is no run of this machine: \S/,
      )
    }
  })

  it('is refused with an effect that the machine does not know: XState would drop it and wait for ever', () => {
    const json = JSON.parse(JSON.stringify(persistRun(acting)).replaceAll('"runCall"', '"runCalls"'))
    expect(() => reviveRun(json)).toThrow(/it has effects that this machine does not know: it restores only/)
  })

  it('is refused where it is none, or one of an actor that was stopped', () => {
    const json = throughJson(acting) as object
    for (const none of [
      undefined,
      null,
      'run',
      [],
      {},
      { ...json, status: 'stopped' },
      { ...json, context: {} },
    ]) {
      expect(() => reviveRun(none), JSON.stringify(none)).toThrow(/it is no run of this machine: \S/)
    }
  })
})
