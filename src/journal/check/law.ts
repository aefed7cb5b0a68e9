/** What a law is to the checker: something that looks at each event once, in order, and says when it is broken. */
import type { Recorded } from '../../machines/agent/events.ts'
import type { AgentState } from '../../machines/agent/fold.ts'

/** An event with the agent before and after it. */
export interface Step {
  readonly recorded: Recorded
  readonly before: AgentState
  readonly after: AgentState
  /** The `parentUuid` of each of its conversation lines; undefined where nobody knows lines. */
  readonly parents: readonly (string | null)[] | undefined
}

/** One law, watching one log. Holds what it has seen; make a new one per log. */
export interface Law {
  readonly name: string
  /** Why the event breaks the law; undefined when it does not. The order law has been asked before. */
  see(step: Step): string | undefined
  /** Lines are missing or not understood here; `line` is the id of one that others may hang on. */
  gap?(line: string | undefined): void
}
