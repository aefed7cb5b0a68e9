/** Limits and their defaults: each is a setting, and reaching one is said (law 8). */

/** What is bounded. */
export interface Limits {
  /** How deep delegation goes; 1 = children of the root only. With `features.nesting` the default is 5. */
  readonly depth: number
  /** Agents alive at once; a spawn over it is refused. */
  readonly liveAgents: number
  /** Children started in one session, over its whole life. */
  readonly spawns: number
  /** Model replies per run of a child whose definition says nothing. The root has none. */
  readonly childMaxTurns: number
  /** UTF-16 code units of what an `Agent` call hands to the parent's model. */
  readonly agentResultChars: number
  /** UTF-16 code units of any other tool result in a request; a longer one is replaced by head and tail. */
  readonly toolResultChars: number
  /** How often an agent is asked once more for a report that is missing or has not the form asked for. */
  readonly reportNudges: number
  /** Milliseconds after which a foreground agent is moved to the background, with `features.autoBackground`. */
  readonly autoBackgroundMs: number
  /** Milliseconds between two lines about what an agent is at, with `features.progressSummaries`. */
  readonly progressSummaryMs: number
  /** Bytes of the output file of an agent in the background. */
  readonly outputFileBytes: number
  /** Milliseconds for which an agent that has ended is still shown, from the moment at which its end was told. */
  readonly taskRetentionMs: number
  /** Messages that wait for one agent; one more is refused. */
  readonly messages: number
  /** Tokens of all kinds that a run of the root and everybody below it may use. Absent: not limited. */
  readonly tokens?: number
  /** US dollars that they may cost, by the prices that the engine knows. Absent: not limited. */
  readonly usd?: number
  /** Milliseconds of running time of a run; time that it is switched off does not count. Absent: not limited. */
  readonly runningMs?: number
  /** Tokens that are left free in a context window beside the request and the longest reply. */
  readonly contextMargin: number
  /** How often in a row stop hooks may send an agent back to work. */
  readonly stopBlocks: number
}

/** How deep delegation goes with `features.nesting`. */
export const NESTED_DEPTH = 5

/** What holds until somebody sets something else. */
export const DEFAULT_LIMITS: Limits = {
  depth: 1,
  liveAgents: 64,
  spawns: 1_000,
  childMaxTurns: 200,
  agentResultChars: 100_000,
  toolResultChars: 50_000,
  reportNudges: 1,
  autoBackgroundMs: 120_000,
  progressSummaryMs: 30_000,
  outputFileBytes: 5 * 1024 * 1024,
  taskRetentionMs: 5 * 60_000,
  messages: 100,
  contextMargin: 13_000,
  stopBlocks: 5,
}
