import { describe, expect, it } from 'vitest'
import { closestName, didYouMean } from '../../src/definitions/closest-name.ts'

describe('the closest name', () => {
  it.each([
    ['Raed', 'Read'],
    ['read', 'Read'],
    ['Grepp', 'Grep'],
    [' bash ', 'Bash'],
    ['general_purpose', 'general-purpose'],
    ['SomethingElse', undefined],
    ['', undefined],
  ])('to %j is %j', (name, expected) => {
    expect(closestName(name, ['Bash', 'Grep', 'Read', 'general-purpose'])).toBe(expected)
  })

  it('becomes a question only where there is one', () => {
    expect(didYouMean('Raed', ['Read'])).toBe(' Did you mean "Read"?')
    expect(didYouMean('x', ['Read'])).toBe('')
  })
})
