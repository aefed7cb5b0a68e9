/** Many runs in two numbers. */

/**
 * On a shared machine noise only ever adds, so the smallest is the best estimate of what the work costs; the median
 * says how far to trust it.
 */
export interface Spread {
  readonly min: number
  readonly median: number
  readonly runs: number
}

/** The spread of at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const [min] = sorted
  if (min === undefined) throw new Error('there is nothing to make a spread of')
  return { min, median: sorted[Math.floor(sorted.length / 2)] ?? min, runs: sorted.length }
}

/** Each value of a spread changed alike, by a function that keeps the order. */
export function mapSpread({ min, median, runs }: Spread, change: (value: number) => number): Spread {
  return { min: change(min), median: change(median), runs }
}
