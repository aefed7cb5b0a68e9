import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sleep } from '../../src/effects/clock.ts'
import { createVirtualClock } from '../helpers/virtual-clock.ts'

describe('the virtual clock', () => {
  it('stands still until it is moved', () => {
    const clock = createVirtualClock(1_000)
    let fired = false
    clock.setTimer(10, () => {
      fired = true
    })
    expect([clock.now(), fired, clock.pending, clock.untilNext]).toEqual([1_000, false, 1, 10])
    clock.advance(9)
    expect(fired).toBe(false)
    clock.advance(1)
    expect([clock.now(), fired, clock.pending, clock.untilNext]).toEqual([1_010, true, 0, undefined])
  })

  it('fires timers by due time, equals in the order of setting, each at its own instant', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -5, max: 50 }), { maxLength: 30 }), (delays) => {
        const clock = createVirtualClock(0)
        const fired: { delay: number; order: number; at: number }[] = []
        delays.forEach((ms, order) => {
          clock.setTimer(ms, () => fired.push({ delay: Math.max(0, ms), order, at: clock.now() }))
        })
        clock.runAll()
        const expected = delays
          .map((ms, order) => ({ delay: Math.max(0, ms), order, at: Math.max(0, ms) }))
          .sort((a, b) => a.delay - b.delay || a.order - b.order)
        expect(fired).toEqual(expected)
      }),
      { numRuns: 50 },
    )
  })

  it('does not fire a cancelled timer, also when a timer of the same instant cancels it', () => {
    const clock = createVirtualClock()
    const fired: string[] = []
    clock.setTimer(5, () => {
      fired.push('first')
      cancelSecond()
    })
    const cancelSecond = clock.setTimer(5, () => fired.push('second'))
    clock.advance(5)
    expect([fired, clock.pending]).toEqual([['first'], 0])
  })

  it('fires timers that callbacks set within the span, and only those', () => {
    const clock = createVirtualClock(0)
    const at: number[] = []
    const again = (): void => {
      at.push(clock.now())
      clock.setTimer(10, again)
    }
    clock.setTimer(10, again)
    clock.advance(35)
    expect([at, clock.now()]).toEqual([[10, 20, 30], 35])
  })

  it('gives promises their turn between timers when asked to', async () => {
    const clock = createVirtualClock(0)
    const woken: number[] = []
    const sleeper = (async () => {
      for (let i = 0; i < 3; i++) {
        await sleep(clock, 100)
        woken.push(clock.now())
      }
    })()
    await clock.advanceAsync(1_000)
    await sleeper
    expect(woken).toEqual([100, 200, 300])
  })

  it('refuses to run timers that set each other for ever', () => {
    const clock = createVirtualClock()
    const again = (): void => {
      clock.setTimer(1, again)
    }
    again()
    expect(() => clock.runAll()).toThrow('they never end')
  })
})
