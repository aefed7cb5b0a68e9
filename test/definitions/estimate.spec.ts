import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tokensOfContent, tokensOfText } from '../../src/definitions/estimate.ts'
import { contextWindowOf, listPrices, withOwnFacts } from '../../src/definitions/prices.ts'

describe('an estimate of tokens', () => {
  it('takes three plain characters for one token and any other for one each', () => {
    expect(tokensOfText('')).toBe(0)
    expect(tokensOfText('abcdef')).toBe(2)
    expect(tokensOfText('木の下')).toBe(3)
  })

  it('grows with the text', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(tokensOfText(a + b)).toBeGreaterThanOrEqual(Math.max(tokensOfText(a), tokensOfText(b)))
      }),
    )
  })

  it('does not count the bytes of an image, also inside a result', () => {
    const image = { type: 'image', source: { type: 'base64', data: 'A'.repeat(100_000) } }
    expect(tokensOfContent([image])).toBeLessThan(2_000)
    expect(tokensOfContent([{ type: 'tool_result', tool_use_id: 't', content: [image] }])).toBeLessThan(2_000)
  })
})

describe('what is known of models', () => {
  it('is what a host says in front of the list, the longest start first', () => {
    const facts = withOwnFacts({ 'claude-': { input: 1 }, 'claude-sonnet-5': { contextWindow: 50_000 } })
    expect(facts('claude-sonnet-5-20260101')).toMatchObject({ contextWindow: 50_000, input: 2 })
    expect(facts('claude-opus-5')).toMatchObject({ input: 1, output: 25 })
    expect(facts('other')).toBeUndefined()
  })

  it('has a window of 200,000 tokens for a model that nobody knows', () => {
    expect(contextWindowOf(listPrices('other'))).toBe(200_000)
    expect(contextWindowOf(withOwnFacts({ other: { output: 1 } })('other'))).toBe(200_000)
  })
})
