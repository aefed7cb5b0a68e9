import { describe, expect, it } from 'vitest'
import { chooseModel } from '../../src/cli/choose-model.ts'
import { UsageError } from '../../src/cli/errors.ts'

describe('the model', () => {
  it.each([
    ['a key', { ANTHROPIC_API_KEY: 'k' }, 'ANTHROPIC_API_KEY'],
    ['a token', { ANTHROPIC_AUTH_TOKEN: 't' }, 'ANTHROPIC_AUTH_TOKEN'],
    ['a server', { ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' }, 'none'],
  ])("is Anthropic's with %s", (_, env, apiKeySource) => {
    expect(chooseModel(undefined, env)).toEqual({ kind: 'anthropic', modelId: undefined, apiKeySource })
    expect(chooseModel('opus', env)).toEqual({ kind: 'anthropic', modelId: 'opus', apiKeySource })
  })

  it('is the offline one without any of them, and says so', () => {
    expect(chooseModel(undefined, { ANTHROPIC_API_KEY: '' })).toMatchObject({
      kind: 'offline',
      notice: expect.stringContaining('offline'),
    })
  })

  it('is the offline one when that is asked for, whatever the environment has, without a word', () => {
    expect(chooseModel('offline', { ANTHROPIC_API_KEY: 'k' })).toEqual({
      kind: 'offline',
      paceMs: undefined,
      notice: undefined,
    })
  })

  it('is not silently another one when it cannot be reached', () => {
    expect(() => chooseModel('opus', {})).toThrow(UsageError)
    expect(() => chooseModel('opus', {})).toThrow(/opus needs ANTHROPIC_API_KEY.*--model offline/)
  })

  it('has the pace that the environment sets, or refuses what is none', () => {
    expect(chooseModel('offline', { TROUPE_OFFLINE_PACE_MS: '250' })).toMatchObject({ paceMs: 250 })
    expect(() => chooseModel('offline', { TROUPE_OFFLINE_PACE_MS: 'slow' })).toThrow(
      /whole number of milliseconds/,
    )
  })
})
