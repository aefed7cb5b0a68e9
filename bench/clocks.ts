/** What a stretch of work costs this process. */

export interface Cost {
  /** User and system time of all threads, garbage collection included. */
  readonly cpuMs: number
  readonly wallMs: number
}

/** Does the work and says what it cost. Garbage of before is collected first. */
export async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  collectGarbage()
  const wall = performance.now()
  const cpu = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { cpuMs: (user + system) / 1000, wallMs: performance.now() - wall }
}

/** Nanoseconds that synchronous work takes. */
export function nanosecondsOf(work: () => void): number {
  const start = process.hrtime.bigint()
  work()
  return Number(process.hrtime.bigint() - start)
}

/** Collects all garbage. Throws where node was started without `--expose-gc`. */
export function collectGarbage(): void {
  if (globalThis.gc === undefined) throw new Error('start node with --expose-gc')
  globalThis.gc()
}
