/** Names of runs: an agent and the number of its run. */
import type { RunKey } from './events.ts'

/** Whether two keys name the same run of the same agent. */
export const isSameRun = (a: RunKey, b: RunKey): boolean => a.agentId === b.agentId && a.run === b.run

/** Whether a run is among these. */
export const isAmong = (runs: readonly RunKey[], run: RunKey): boolean =>
  runs.some((other) => isSameRun(other, run))

/** The same runs but for those. */
export const withoutRuns = (runs: readonly RunKey[], gone: readonly RunKey[]): readonly RunKey[] =>
  runs.filter((run) => !isAmong(gone, run))

/** A run as the key of a map. */
export const runName = ({ agentId, run }: RunKey): string => `${agentId}:${run}`
