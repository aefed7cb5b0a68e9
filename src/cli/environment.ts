/** Settings that come from environment variables: numbers that hardly anybody changes, so no flags. */
import type { RetryPolicy } from '../effects/model/retrying.ts'
import { UsageError } from './errors.ts'
import type { Host } from './host.ts'

type Env = Host['env']

/** The whole number in a variable, `least` or more; undefined when it is unset or empty. Throws {@link UsageError}. */
export function wholeNumberIn(env: Env, name: string, least: number, unit = ''): number | undefined {
  const value = env[name]?.trim()
  if (value === undefined || value === '') return undefined
  const number = Number(value)
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(number) || number < least) {
    throw new UsageError(`${name} is "${value}"; set it to a whole number${unit}, ${least} or more`)
  }
  return number
}

/** How often and how patiently requests to a model are tried; what is not set is the engine's. Throws {@link UsageError}. */
export function retriesIn(env: Env): Partial<RetryPolicy> {
  const maxRetries = wholeNumberIn(env, 'TROUPE_MAX_RETRIES', 0)
  const firstByteMs = wholeNumberIn(env, 'TROUPE_FIRST_BYTE_MS', 1, ' of milliseconds')
  const gapMs = wholeNumberIn(env, 'TROUPE_GAP_MS', 1, ' of milliseconds')
  return {
    ...(maxRetries !== undefined && { maxRetries }),
    ...(firstByteMs !== undefined && { firstByteMs }),
    ...(gapMs !== undefined && { gapMs }),
  }
}
