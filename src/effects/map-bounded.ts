/** As `map` with a function that takes time, `limit` of them at once; results in the order of the items. */
export async function mapBounded<T, R>(
  items: readonly T[],
  limit: number,
  act: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results = new Map<number, R>()
  const waiting = items.entries()
  const worker = async (): Promise<void> => {
    // All workers draw from one iterator.
    for (const [index, item] of waiting) results.set(index, await act(item))
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return [...results].sort(([left], [right]) => left - right).map(([, result]) => result)
}
