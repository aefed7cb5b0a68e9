/** Whole sessions from seeds, held to all laws after each step. `npm run simulate -- --seeds N` runs as many as you like. */
import { describe, expect, it } from 'vitest'
import { planFor, SCENARIOS } from './scenarios.ts'
import type { SessionOutcome } from './session.ts'
import { simulate } from './session.ts'

const SEEDS_PER_SCENARIO = 24

describe('simulated sessions', () => {
  it.each(Object.keys(SCENARIOS))(
    'all laws hold in every session of the scenario %s',
    { timeout: 120_000 },
    async (scenario) => {
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
    },
  )

  it('have in them what their scenario is there for: snapshots that are used, branches, damage', {
    timeout: 120_000,
  }, async () => {
    const count = async (scenario: string, of: (outcome: SessionOutcome) => number): Promise<number> => {
      let sum = 0
      for (let seed = 1; seed <= 8; seed++) sum += of(await simulate(planFor(seed, scenario)))
      return sum
    }
    expect(await count('snapshots', ({ shortcuts }) => shortcuts)).toBeGreaterThan(40)
    expect(await count('branches', ({ branches }) => branches)).toBe(8)
    expect(await count('reviews', ({ verdicts }) => verdicts)).toBeGreaterThan(20)
    expect(await count('deferred-reviews', ({ verdicts }) => verdicts)).toBeGreaterThan(20)
    expect(await count('approvals', ({ answers }) => answers)).toBeGreaterThan(20)
    expect(await count('hooks', ({ hooks }) => hooks)).toBeGreaterThan(60)
    expect(await count('damage', ({ isDamaged }) => Number(isDamaged))).toBeGreaterThan(4)
  })

  it('have conversations in them that are summed up, and kills and crashes in the middle of that', {
    timeout: 120_000,
  }, async () => {
    const all = { done: 0, cutOff: 0 }
    for (let seed = 1; seed <= 24; seed++) {
      const { compactions } = await simulate(planFor(seed, 'compaction'))
      all.done += compactions.done
      all.cutOff += compactions.cutOff
    }
    expect(all.done).toBeGreaterThan(10)
    expect(all.cutOff).toBeGreaterThan(1)
  })

  it('have worktrees in them that are made, removed and kept', { timeout: 120_000 }, async () => {
    const all = { made: 0, kept: 0 }
    for (let seed = 1; seed <= 12; seed++) {
      const { worktrees } = await simulate(planFor(seed, 'worktrees'))
      all.made += worktrees.made
      all.kept += worktrees.kept
    }
    expect(all.kept).toBeGreaterThan(3)
    expect(all.made - all.kept).toBeGreaterThan(3)
  })

  it('have requests to stop in them that are agreed to, and that are not', { timeout: 120_000 }, async () => {
    const all = { agreed: 0, declined: 0 }
    for (let seed = 1; seed <= 40; seed++) {
      const { requests } = await simulate(planFor(seed, 'requests'))
      all.agreed += requests.agreed
      all.declined += requests.declined
    }
    expect(all.agreed).toBeGreaterThan(6)
    expect(all.declined).toBeGreaterThan(4)
  })

  it('have plans in them that are approved, refused, and not answered', { timeout: 120_000 }, async () => {
    const all = { approved: 0, refused: 0, unanswered: 0 }
    for (let seed = 1; seed <= 24; seed++) {
      const { plans } = await simulate(planFor(seed, 'plans'))
      all.approved += plans.approved
      all.refused += plans.refused
      all.unanswered += plans.unanswered
    }
    expect(all.approved).toBeGreaterThan(8)
    expect(all.refused).toBeGreaterThan(8)
    expect(all.unanswered).toBeGreaterThan(4)
  })

  it('have forks in them, and others that begin with what their parent knew, in all their moments', {
    timeout: 120_000,
  }, async () => {
    const all: Record<string, number> = {}
    for (let seed = 1; seed <= 24; seed++)
      for (const [what, count] of Object.entries((await simulate(planFor(seed, 'forks'))).forks))
        all[what] = (all[what] ?? 0) + count
    expect(all['forks']).toBeGreaterThan(25)
    expect(all['heirs']).toBeGreaterThan(3)
    expect(all['resumed']).toBeGreaterThan(4)
    expect(all['narrowed']).toBeGreaterThan(4)
    expect(all['apart']).toBeGreaterThan(1)
    expect(all['refused']).toBeGreaterThan(10)
  })

  it('have messages, questions and names in them that come to all their ends', {
    timeout: 120_000,
  }, async () => {
    const all: Record<string, number> = {}
    for (let seed = 1; seed <= 30; seed++)
      for (const [what, count] of Object.entries((await simulate(planFor(seed, 'messages'))).words))
        all[what] = (all[what] ?? 0) + count
    expect(all['read']).toBeGreaterThan(30)
    expect(all['began']).toBeGreaterThan(3)
    expect(all['named']).toBeGreaterThan(20)
    expect(all['takenOver']).toBeGreaterThan(7)
    expect(all['held']).toBeGreaterThan(6)
    expect(all['toAll']).toBeGreaterThan(1)
    expect(all['answered']).toBeGreaterThan(7)
    expect(all['unanswered']).toBeGreaterThan(3)
    expect(all['asked']).toBeGreaterThan(1)
    expect(all['stopped']).toBeGreaterThan(4)
  })

  it('have commands and children in them that are moved, and that come to all their ends', {
    timeout: 120_000,
  }, async () => {
    const all: Record<string, number> = {}
    for (let seed = 1; seed <= 36; seed++)
      for (const [what, count] of Object.entries((await simulate(planFor(seed, 'moves'))).moves))
        all[what] = (all[what] ?? 0) + count
    expect(all['commands']).toBeGreaterThan(15)
    expect(all['children']).toBeGreaterThan(6)
    expect(all['read']).toBeGreaterThan(1)
    expect(all['exited']).toBeGreaterThan(5)
    expect(all['ended']).toBeGreaterThan(5)
    expect(all['survived']).toBeGreaterThan(1)
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
