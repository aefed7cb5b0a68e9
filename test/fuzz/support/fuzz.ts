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

/** A size of inputs: what shows growth in the ordinary suite, what is asked for in long runs. */
export const sizeOf = (ordinary: number, long: number): number => (isLong ? long : ordinary)

/** How much longer than others an input may take. */
const MOST_TIMES_SLOWER = 20
/** Into how many parts an input is divided to see how time grows: a quadratic one takes that many times as long. */
const PARTS = 128

/**
 * Expects time to grow with the size of inputs only, whatever their shape is.
 *
 * No clock is asked for more than comparisons, so that a busy machine does not make a liar of it: a shape that takes
 * far longer than the others of its size is looked at again, one input of the size against {@link PARTS} of a part
 * of it. That is the same work unless time grows with more than the size.
 */
export async function expectLinear<S, T>(
  size: number,
  shapes: readonly S[],
  inputOf: (shape: S, size: number) => T,
  act: (input: T) => unknown,
): Promise<void> {
  const times: { readonly shape: S; readonly ms: number }[] = []
  for (const shape of shapes) {
    const input = inputOf(shape, size)
    times.push({ shape, ms: await millisecondsOf(() => act(input)) })
  }
  const sorted = times.map(({ ms }) => ms).sort((a, b) => a - b)
  const usual = Math.max(sorted[Math.floor(sorted.length / 2)] ?? 0, 0.1)
  // The first one always, lest all are slow alike.
  for (const { shape, ms } of times.filter(({ ms }, i) => i === 0 || ms > usual * MOST_TIMES_SLOWER)) {
    const what = `${JSON.stringify(shape)} took ${ms.toFixed(1)} ms, others ${usual.toFixed(1)} ms; times slower than its parts`
    expect(
      await growth(inputOf(shape, size), inputOf(shape, Math.ceil(size / PARTS)), act),
      what,
    ).toBeLessThan(MOST_TIMES_SLOWER)
  }
}

/** How many times longer one large input takes than small ones of the same sum. */
async function growth<T>(large: T, small: T, act: (input: T) => unknown): Promise<number> {
  let slower = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 3 && slower >= MOST_TIMES_SLOWER; attempt++) {
    const many = await millisecondsOf(async () => {
      for (let i = 0; i < PARTS; i++) await act(small)
    })
    const one = await millisecondsOf(() => act(large))
    slower = Math.min(slower, one / Math.max(many, 0.5))
  }
  return slower
}

async function millisecondsOf(act: () => unknown): Promise<number> {
  const from = performance.now()
  await act()
  return performance.now() - from
}
