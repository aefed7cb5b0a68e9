/**
 * How fuzz tests are run: few inputs in the ordinary suite, many with `TROUPE_FUZZ_RUNS=10000`, the same ones again
 * with `TROUPE_FUZZ_SEED`. A failure names its seed and its smallest input; a long run also names it beforehand, so
 * that one that is killed can be repeated.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'

const wantedRuns = Number(process.env['TROUPE_FUZZ_RUNS'] ?? Number.NaN)
const wantedSeed = Number(process.env['TROUPE_FUZZ_SEED'] ?? Number.NaN)
const isLong = Number.isSafeInteger(wantedRuns)

/** An input that takes longer than this hangs. Far above what any takes on a busy machine; no measure of speed. */
const HANG_MS = 20_000
const LONG_TEST_MS = 6 * 60 * 60 * 1_000

/** A test of one rule over many values. `runs` is how many the ordinary suite can afford. */
export function fuzz<T>(
  rule: string,
  runs: number,
  values: fc.Arbitrary<T>,
  check: (value: T) => void | Promise<void>,
): void {
  const numRuns = isLong ? wantedRuns : runs
  const seed = Number.isSafeInteger(wantedSeed) ? wantedSeed : Date.now() ^ (Math.random() * 0x100000000)
  it(
    rule,
    async () => {
      if (isLong) console.info(`${rule}: ${numRuns} runs, seed ${seed}`)
      const property = fc.asyncProperty(values, async (value) => check(value))
      await fc.assert(property, { numRuns, seed, timeout: HANG_MS })
    },
    isLong ? LONG_TEST_MS : HANG_MS * 3,
  )
}

/**
 * Good inputs to begin with. The ordinary suite takes the same few each time, as making one costs more than reading
 * it; what is done to them differs from run to run. Long runs make new ones.
 */
export function goodInputs<T>(values: fc.Arbitrary<T>, count = 40): fc.Arbitrary<T> {
  return isLong ? values : fc.constantFrom(...fc.sample(values, { numRuns: count, seed: 1 }))
}

/** How much longer a large input may take than small ones of the same sum. A quadratic one takes {@link TIMES} times. */
const MOST_TIMES_SLOWER = 20
const TIMES = 128

/**
 * Expects time to grow with the size of the input only: one input of `size` is compared with {@link TIMES} of a
 * `TIMES`th of it, which is the same work for a linear `act`. Measured against itself and not against a clock, and
 * again when it fails, so that a busy machine does not make a liar of it.
 */
export async function expectLinear<T>(
  size: number,
  inputOf: (size: number) => T,
  act: (input: T) => unknown,
): Promise<void> {
  const small = inputOf(Math.ceil(size / TIMES))
  const large = inputOf(size)
  // The first call pays for compiling.
  await act(small)
  let slower = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 3 && slower > MOST_TIMES_SLOWER; attempt++) {
    const many = await millisecondsOf(async () => {
      for (let i = 0; i < TIMES; i++) await act(small)
    })
    const one = await millisecondsOf(async () => act(large))
    slower = Math.min(slower, one / Math.max(many, 0.5))
  }
  expect(slower, 'times slower than small inputs of the same sum').toBeLessThan(MOST_TIMES_SLOWER)
}

async function millisecondsOf(act: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await act()
  return performance.now() - from
}
