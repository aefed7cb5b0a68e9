import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RequestAsk, Standing } from '../../src/definitions/budget.ts'
import { admit, mostOf, nearlySpent } from '../../src/definitions/budget.ts'
import type { ModelFacts } from '../../src/definitions/prices.ts'

const PRICE: ModelFacts = { input: 3, output: 15, cacheWrite: 3.75, cacheRead: 0.3, contextWindow: 200_000 }
const NOTHING = { tokens: 0, usd: 0 }

const asking = (more: Partial<RequestAsk> = {}): RequestAsk => ({
  inputTokens: 1_000,
  maxTokens: 32_000,
  leastTokens: 4_096,
  price: PRICE,
  ...more,
})
const standing = (more: Partial<Standing> = {}): Standing => ({
  tokens: undefined,
  usd: undefined,
  spent: NOTHING,
  reserved: NOTHING,
  ...more,
})

describe('a budget', () => {
  it('grants all that is asked for where there is room, and where nothing is limited', () => {
    expect(admit(asking(), [])).toMatchObject({ kind: 'granted', maxTokens: 32_000 })
    expect(admit(asking(), [standing({ tokens: 33_000 })])).toMatchObject({ maxTokens: 32_000 })
  })

  it('gives a shorter reply before it refuses, as long as the reply is worth a request (B2)', () => {
    expect(admit(asking(), [standing({ tokens: 11_000 })])).toMatchObject({
      kind: 'granted',
      maxTokens: 10_000,
      amount: { tokens: 11_000 },
    })
    expect(admit(asking(), [standing({ tokens: 5_000 })])).toMatchObject({
      kind: 'refused',
      limit: 'tokens',
      of: 5_000,
      used: 0,
      asked: 5_096,
    })
  })

  it('counts input at its most expensive, as if nothing of it were cached', () => {
    expect(mostOf(asking({ inputTokens: 1_000_000 }), 0).usd).toBe(3.75)
  })

  it('refuses what money does not cover, and says what it might have cost', () => {
    const refused = admit(asking(), [standing({ usd: 0.05 })])
    expect(refused).toMatchObject({ kind: 'refused', limit: 'money', of: 0.05 })
  })

  it('takes a model without a price for free', () => {
    expect(admit(asking({ price: undefined }), [standing({ usd: 0.000_001 })])).toMatchObject({
      kind: 'granted',
      maxTokens: 32_000,
    })
  })

  it('lets a request wait for those in flight, and refuses only for what is spent (B3)', () => {
    const full = { tokens: 50_000, reserved: { tokens: 49_000, usd: 0 } }
    expect(admit(asking(), [standing(full)])).toEqual({ kind: 'later' })
    expect(admit(asking(), [standing({ ...full, spent: { tokens: 49_000, usd: 0 } })])).toMatchObject({
      kind: 'refused',
    })
  })

  it('names the standing that has no room', () => {
    const own = { ...standing({ tokens: 2_000 }), name: 'own' }
    expect(admit(asking(), [{ ...standing({ tokens: 90_000 }), name: 'root' }, own])).toMatchObject({
      kind: 'refused',
      standing: own,
    })
  })

  it('warns from four fifths on', () => {
    const at = (tokens: number) => nearlySpent(standing({ tokens: 1_000, spent: { tokens, usd: 0 } }))
    expect(at(799)).toEqual([])
    expect(at(800)).toEqual([{ limit: 'tokens', of: 1_000, used: 800 }])
    expect(nearlySpent(standing({ usd: 1, spent: { tokens: 0, usd: 0.9 } }))).toMatchObject([
      { limit: 'money' },
    ])
  })

  it('never grants what would go beyond a limit, whatever is asked for (B1)', () => {
    const amount = fc.record({
      tokens: fc.nat(60_000),
      usd: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    const standings = fc.array(
      fc.record({
        tokens: fc.option(fc.nat(100_000), { nil: undefined }),
        usd: fc.option(fc.double({ min: 0.001, max: 2, noNaN: true }), { nil: undefined }),
        spent: amount,
        reserved: amount,
      }),
      { maxLength: 3 },
    )
    fc.assert(
      fc.property(standings, fc.nat(50_000), fc.integer({ min: 1, max: 40_000 }), (limits, input, max) => {
        const decision = admit(asking({ inputTokens: input, maxTokens: max }), limits)
        if (decision.kind !== 'granted') return
        expect(decision.maxTokens).toBeLessThanOrEqual(max)
        for (const { tokens, usd, spent, reserved } of limits) {
          const sum = (kind: 'tokens' | 'usd') => spent[kind] + reserved[kind] + decision.amount[kind]
          if (tokens !== undefined) expect(sum('tokens')).toBeLessThanOrEqual(tokens)
          if (usd !== undefined) expect(sum('usd')).toBeLessThanOrEqual(usd + 1e-8)
        }
      }),
      { numRuns: 500 },
    )
  })
})
