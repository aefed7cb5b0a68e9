import { describe, expect, it } from 'vitest'
import {
  errorFromAnswer,
  errorFromThrown,
  retryAfterMs,
} from '../../../src/effects/model/anthropic-errors.ts'

const HOUR = 3_600_000
const now = Date.parse('2030-01-01T00:00:00Z')
const asked = (headers: Record<string, string>): number | undefined => retryAfterMs(new Headers(headers), now)

describe('the time a server asks for', () => {
  it('is read from milliseconds, seconds, or a date', () => {
    expect(asked({ 'retry-after-ms': '250', 'retry-after': '9' })).toBe(250)
    expect(asked({ 'retry-after': '9' })).toBe(9_000)
    expect(asked({ 'retry-after': ' 0.5 ' })).toBe(500)
    expect(asked({ 'retry-after': 'Tue, 01 Jan 2030 00:00:30 GMT' })).toBe(30_000)
  })

  it('is nothing for a date that is past, and absent when it cannot be read', () => {
    expect(asked({ 'retry-after': 'Mon, 31 Dec 2029 23:59:00 GMT' })).toBe(0)
    expect(asked({ 'retry-after': 'soon' })).toBeUndefined()
    expect(asked({ 'retry-after': '-3e9x' })).toBeUndefined()
    expect(asked({})).toBeUndefined()
  })

  it('is an hour at most, so that no timer overflows', () => {
    expect(asked({ 'retry-after': '99999999' })).toBe(HOUR)
    expect(asked({ 'retry-after-ms': '1e10', 'retry-after': '8000' })).toBe(HOUR)
    expect(asked({ 'retry-after': 'Fri, 01 Jan 2038 00:00:00 GMT' })).toBe(HOUR)
  })
})

describe('what was thrown', () => {
  it('is named by its innermost cause', () => {
    const thrown = new Error('Connection error.', {
      cause: new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') }),
    })
    thrown.name = 'APIConnectionError'
    expect(errorFromThrown(thrown, 'host', now, false)).toMatchObject({
      code: 'connection',
      message: 'cannot reach host: connect ECONNREFUSED',
      retryable: true,
    })
  })

  it('is a cut when the answer had begun, and a request that cannot be made otherwise', () => {
    const thrown = new TypeError('Invalid header value')
    expect(errorFromThrown(thrown, 'host', now, true)).toMatchObject({ code: 'stream-cut', retryable: true })
    expect(errorFromThrown(thrown, 'host', now, false)).toMatchObject({
      code: 'invalid-request',
      retryable: false,
      cause: thrown,
    })
  })
})

describe('a refused request', () => {
  it.each([
    'prompt is too long: 213453 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000',
    "This model's maximum context length is 8192 tokens; your request exceeds it",
  ])('is too long for its model where the server says «%s»', (message) => {
    const error = errorFromAnswer({ status: 400, type: 'invalid_request_error', message }, 'host', 0)
    expect(error).toMatchObject({ code: 'context-exceeded', retryable: false })
  })

  it.each(['max_tokens: must be greater than 0', 'messages: text content blocks must be non-empty'])(
    'is wrong in another way where it says «%s»',
    (message) => {
      expect(errorFromAnswer({ status: 400, message }, 'host', 0)).toMatchObject({ code: 'invalid-request' })
    },
  )
})
