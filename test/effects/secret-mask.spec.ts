import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSecretMask } from '../../src/effects/secret-mask.ts'

const KEY = { name: 'KEY', value: 'a"b\\c d$&e' }

describe('a mask', () => {
  it('puts the name in place of the value, as it is and as JSON escapes it', () => {
    const { text } = createSecretMask([KEY])
    expect(text(`<${KEY.value}>`)).toBe('<[secret KEY]>')
    expect(text(JSON.stringify({ k: KEY.value }))).toBe('{"k":"[secret KEY]"}')
  })

  it('takes the whole of a value of which another is a part', () => {
    const { text } = createSecretMask([
      { name: 'PART', value: '12345678' },
      { name: 'WHOLE', value: '0123456789' },
    ])
    expect(text('0123456789 12345678')).toBe('[secret WHOLE] [secret PART]')
  })

  it('leaves short values, and says which', () => {
    const mask = createSecretMask([
      { name: 'SHORT', value: '1234567' },
      { name: 'EMPTY', value: '' },
    ])
    expect([mask.text('1234567'), mask.unmasked]).toEqual(['1234567', ['SHORT']])
  })

  it('gives back the very same value where there is nothing to mask', () => {
    const value = { a: ['x', 1, null], b: { c: true } }
    expect(createSecretMask([KEY]).plain(value)).toBe(value)
  })

  it('leaves no value in anything that JSON can hold', () => {
    const secret = fc.string({ minLength: 6 }).map((rest) => `zq${rest}`)
    fc.assert(
      fc.property(secret, fc.jsonValue(), fc.string(), (value, data, around) => {
        const mask = createSecretMask([{ name: 'S', value }])
        const json = JSON.stringify(
          mask.plain([data, `${around}${value}${around}`, { [value]: [value + value] }]),
        )
        expect(json.includes(JSON.stringify(value).slice(1, -1))).toBe(false)
      }),
    )
  })

  it('takes time in proportion to the text', () => {
    const mask = createSecretMask([{ name: 'S', value: `${'a'.repeat(200)}b` }])
    const began = performance.now()
    mask.text('a'.repeat(2_000_000))
    expect(performance.now() - began).toBeLessThan(2_000)
  })
})
