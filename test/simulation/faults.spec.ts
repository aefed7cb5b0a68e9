/**
 * The simulation, simulated wrong: each deliberate fault is found by its law within the stated number of seeds, and
 * the very sessions that find it are clean without it.
 */
import { describe, expect, it } from 'vitest'
import { FAULTS } from './faults/index.ts'
import { withFault } from './faults/with-fault.ts'
import { LAWS } from './laws/index.ts'
import { planFor } from './scenarios.ts'
import { simulate } from './session.ts'

describe('a deliberate fault', () => {
  it('there is one for each law', () => {
    expect([...new Set(FAULTS.map(({ law }) => law))].toSorted((a, b) => a - b)).toEqual([
      ...new Set(LAWS.map(({ number }) => number)),
    ])
  })

  it.each(FAULTS)('$name is found by law $law within $within seeds', async (fault) => {
    // Only its own law looks, so that another which notices as well does not hide it.
    const laws = LAWS.filter(({ number }) => number === fault.law)
    for (let seed = 1; seed <= fault.within; seed++) {
      const plan = planFor(seed, fault.scenario)
      const { violation } = await withFault(fault, plan, { laws })
      if (violation?.law !== fault.law) continue
      expect((await simulate(plan)).violation, `seed ${seed} without the fault`).toBeUndefined()
      return
    }
    expect.fail(`${fault.within} seeds did not find it: ${fault.text}`)
  })
})
