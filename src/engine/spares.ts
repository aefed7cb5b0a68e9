/** What a kill leaves alone. */
import type { Agent } from './agent.ts'

/**
 * What the kill of an agent's run spares, for whoever it takes along: an interrupt ends the turn and those who are waited
 * for in it, however far below, and nobody in the background. Undefined: nothing, or it was not killed.
 */
export function sparedBy({ run }: Agent): 'background' | undefined {
  const outcome = run?.snapshot.context.outcome
  return outcome?.kind === 'killed' ? outcome.spares : undefined
}
