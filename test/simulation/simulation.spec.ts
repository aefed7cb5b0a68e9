/** Whole sessions from seeds, held to all laws after each step. `npm run simulate -- --seeds N` runs as many as you like. */
import { describe, expect, it } from 'vitest'
import { planFor, SCENARIOS } from './scenarios.ts'
import { simulate } from './session.ts'

const SEEDS_PER_SCENARIO = 24

describe('simulated sessions', () => {
  it.each(Object.keys(SCENARIOS))('all laws hold in every session of the scenario %s', async (scenario) => {
    let events = 0
    for (let seed = 1; seed <= SEEDS_PER_SCENARIO; seed++) {
      const outcome = await simulate(planFor(seed, scenario))
      expect(
        outcome.violation,
        `seed ${seed}: npm run simulate -- --seed ${seed} --scenario ${scenario}`,
      ).toBeUndefined()
      events += outcome.events
    }
    // Sessions in which nothing happens hold every law.
    expect(events / SEEDS_PER_SCENARIO).toBeGreaterThan(10)
  })

  it('a seed decides a session to the last step', async () => {
    const plan = planFor(7, 'wild')
    const [first, second] = [
      await simulate(plan, { withStory: true }),
      await simulate(plan, { withStory: true }),
    ]
    expect(second.story).toEqual(first.story)
  })
})
