import { describe, expect, it } from 'vitest'
import { retriesIn } from '../../src/cli/environment.ts'
import { UsageError } from '../../src/cli/errors.ts'

describe('the environment says how patiently models are asked', () => {
  it('and leaves to the engine what it does not say', () => {
    expect(retriesIn({})).toEqual({})
    expect(retriesIn({ TROUPE_MAX_RETRIES: '', TROUPE_GAP_MS: ' ' })).toEqual({})
  })

  it('in whole numbers; no retries at all are a number, too', () => {
    const env = { TROUPE_MAX_RETRIES: '0', TROUPE_FIRST_BYTE_MS: ' 250 ', TROUPE_GAP_MS: '1' }
    expect(retriesIn(env)).toEqual({ maxRetries: 0, firstByteMs: 250, gapMs: 1 })
  })

  it.each([
    ['TROUPE_MAX_RETRIES', '-1', '0 or more'],
    ['TROUPE_MAX_RETRIES', '99999999999999999999', '0 or more'],
    ['TROUPE_FIRST_BYTE_MS', '0', 'of milliseconds, 1 or more'],
    ['TROUPE_GAP_MS', '1e3', 'of milliseconds, 1 or more'],
  ])('and refuses %s=%s', (name, value, wanted) => {
    expect(() => retriesIn({ [name]: value })).toThrow(UsageError)
    expect(() => retriesIn({ [name]: value })).toThrow(`${name} is "${value}"; set it to a whole number`)
    expect(() => retriesIn({ [name]: value })).toThrow(wanted)
  })
})
