/** What came of calls that fork their agent, as the logs have it. */
import { eventsOf, type ShadowLog } from './shadow-logs.ts'

export interface ForkCounts {
  /** Forks that were born; and others that began with what their parent knew. */
  readonly forks: number
  readonly heirs: number
  /** Those of both that were brought back in a later process. */
  readonly resumed: number
  /** Those of both that had their conversation summed up, and results in it cut. */
  readonly narrowed: number
  readonly apart: number
  /** Calls of forks that were to fork them. */
  readonly refused: number
}

export function countForks(logs: readonly ShadowLog[]): ForkCounts {
  const behind = logs.filter(({ state }) => state.birth?.inherits !== undefined)
  const has = (log: ShadowLog, type: Parameters<typeof eventsOf>[1]): boolean =>
    eventsOf(log, type).length > 0
  return {
    forks: behind.filter(({ state }) => state.birth?.inherits?.fork !== undefined).length,
    heirs: behind.filter(({ state }) => state.birth?.inherits?.fork === undefined).length,
    resumed: behind.filter((log) => has(log, 'run.resumed')).length,
    narrowed: behind.filter((log) => has(log, 'conversation.compacted') || has(log, 'results.cut')).length,
    apart: behind.filter((log) => has(log, 'worktree.requested')).length,
    refused: logs
      .flatMap((log) => eventsOf(log, 'call.ended'))
      .filter(({ result: { content } }) => JSON.stringify(content ?? '').includes('You are a forked worker'))
      .length,
  }
}
