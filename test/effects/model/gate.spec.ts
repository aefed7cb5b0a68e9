import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createProviderGate, type GateTicket, type ProviderGate } from '../../../src/effects/model/gate.ts'
import { createVirtualClock, type VirtualClock } from '../../helpers/virtual-clock.ts'

interface Rig {
  readonly clock: VirtualClock
  readonly gate: ProviderGate
  /** Who was released when, in order. */
  readonly released: { readonly id: number; readonly at: number; readonly ticket: GateTicket }[]
  readonly enter: (id: number) => () => void
}

/** A gate at time 0. Chance defaults to the middle, so that gaps are their mean. */
function rig(random: () => number = () => 0.5): Rig {
  const clock = createVirtualClock(0)
  const gate = createProviderGate({ clock, random })
  const released: Rig['released'] = []
  const enter = (id: number) => gate.enter((ticket) => released.push({ id, at: clock.now(), ticket }))
  return { clock, gate, released, enter }
}

const counter = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

describe('the gate of a provider', () => {
  it('lets everything pass at once while the provider is well', () => {
    const { clock, gate, released, enter } = rig()
    for (const id of counter(50)) enter(id)
    expect(released.map(({ at }) => at)).toEqual(counter(50).map(() => 0))
    expect([gate.isOpen, gate.waiting, gate.waitMs, clock.pending]).toEqual([true, 0, 0, 0])
  })

  it('holds everybody back after an overload, then releases them in order and never two at one instant', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 60 }), (chances) => {
        let draw = 0
        const { clock, gate, released, enter } = rig(() => chances[draw++ % chances.length] ?? 0)
        gate.overloaded(0)
        for (const id of counter(50)) enter(id)
        expect(released).toEqual([])
        const wait = gate.waitMs
        expect(wait).toBeGreaterThanOrEqual(500)
        clock.runAll()
        expect(released.map(({ id }) => id)).toEqual(counter(50))
        expect(released[0]?.at).toBe(wait)
        expect(new Set(released.map(({ at }) => at)).size).toBe(50)
      }),
      { numRuns: 30 },
    )
  })

  it('waits as long as the server asks for, whoever it asks', () => {
    const { clock, gate, released, enter } = rig()
    gate.overloaded(0, 20_000)
    gate.overloaded(0, 45_000)
    gate.overloaded(0, 30_000)
    enter(1)
    clock.advance(44_999)
    expect(released).toEqual([])
    clock.advance(1)
    expect(released).toHaveLength(1)
  })

  it('moves the release back when the provider fails again while they wait', () => {
    const { clock, gate, released, enter } = rig()
    gate.overloaded(0)
    enter(1)
    clock.advance(500)
    gate.overloaded(0, 5_000)
    clock.advance(4_999)
    expect(released).toEqual([])
    clock.advance(1)
    expect(released).toMatchObject([{ id: 1, at: 5_500 }])
  })

  it('counts requests that fail together as one overload', () => {
    const { gate } = rig()
    for (const _ of counter(50)) gate.overloaded(0)
    expect(gate.waitMs).toBeLessThanOrEqual(1_000)
  })

  it('doubles the backoff each time a released request is overloaded again, up to the longest', () => {
    const { clock, gate, released, enter } = rig()
    const waits: number[] = []
    gate.overloaded(0)
    for (const id of counter(8)) {
      enter(id)
      waits.push(gate.waitMs)
      clock.advance(gate.waitMs)
      gate.overloaded(released.at(-1)?.ticket ?? -1)
    }
    // Chance is 0.5, so each is three quarters of the full backoff.
    expect(waits).toEqual([750, 1_500, 3_000, 6_000, 12_000, 24_000, 24_000, 24_000])
  })

  it('opens after successes in a row, and one overload between them begins the count again', () => {
    const { clock, gate, released, enter } = rig()
    const succeed = (): void => {
      enter(0)
      clock.runAll()
      gate.succeeded(released.at(-1)?.ticket ?? -1)
    }
    gate.overloaded(0)
    succeed()
    succeed()
    enter(0)
    clock.runAll()
    gate.overloaded(released.at(-1)?.ticket ?? -1)
    succeed()
    succeed()
    expect(gate.isOpen).toBe(false)
    succeed()
    expect(gate.isOpen).toBe(true)
  })

  it('does not count successes of requests that were sent before it closed', () => {
    const { gate } = rig()
    gate.overloaded(0)
    for (const _ of counter(10)) gate.succeeded(0)
    expect(gate.isOpen).toBe(false)
  })

  it('drains the queue one by one also after it has recovered, and nobody overtakes', () => {
    const { clock, gate, released, enter } = rig()
    gate.overloaded(0)
    for (const id of counter(20)) enter(id)
    clock.advance(1_000)
    for (const { ticket } of released.slice(0, 3)) gate.succeeded(ticket)
    expect(released.length).toBeGreaterThanOrEqual(3)
    expect(released.length).toBeLessThan(20)
    enter(20)
    clock.runAll()
    expect(released.map(({ id }) => id)).toEqual(counter(21))
    expect(new Set(released.map(({ at }) => at)).size).toBe(21)
    expect(gate.isOpen).toBe(true)
  })

  it('tells those who wait what became of requests in front of them, as far as it counts', () => {
    const { clock, gate, released } = rig()
    const heard: string[] = []
    gate.overloaded(0)
    for (const id of counter(3))
      gate.enter(
        (ticket) => released.push({ id, at: clock.now(), ticket }),
        (sign) => heard.push(`${id} ${sign}`),
      )
    // Sent before it closed: that is known.
    gate.overloaded(0)
    expect(heard).toEqual([])
    clock.advance(gate.waitMs)
    gate.succeeded(released[0]?.ticket ?? -1)
    expect(heard).toEqual(['1 answered', '2 answered'])
    gate.overloaded(released[0]?.ticket ?? -1)
    expect(heard.slice(2)).toEqual(['1 overloaded', '2 overloaded'])
    clock.runAll()
    expect([released.length, heard.length]).toEqual([3, 4])
  })

  it('closes again for a late sign that asks for time, and not for one that does not', () => {
    const { clock, gate, released, enter } = rig()
    gate.overloaded(0)
    for (const id of counter(3)) enter(id)
    clock.runAll()
    for (const { ticket } of released) gate.succeeded(ticket)
    gate.overloaded(0)
    expect(gate.isOpen).toBe(true)
    gate.overloaded(0, 10_000)
    expect([gate.isOpen, gate.waitMs]).toEqual([false, 10_000])
  })

  it('does not release one who has cancelled, and keeps no timer when nobody waits', () => {
    const { clock, gate, released, enter } = rig()
    gate.overloaded(0)
    const cancels = counter(5).map(enter)
    cancels[0]?.()
    cancels[3]?.()
    expect([gate.waiting, clock.pending]).toEqual([3, 1])
    clock.advance(800)
    expect(released.map(({ id }) => id)).toEqual([1])
    for (const cancel of cancels) cancel()
    expect([gate.waiting, clock.pending]).toEqual([0, 0])
    clock.runAll()
    expect(released).toHaveLength(1)
  })
})
