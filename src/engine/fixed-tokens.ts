/** How many tokens system prompt and tools have. They are the same object for all agents of a kind, so it is counted once. */
import { tokensOfText } from '../definitions/estimate.ts'
import type { Prepared } from './agent.ts'

const counted = new WeakMap<Prepared, number>()

/** An estimate; 0 before a run is prepared. */
export function fixedTokensOf(prepared: Prepared | undefined): number {
  if (prepared === undefined) return 0
  const known = counted.get(prepared)
  if (known !== undefined) return known
  const tokens = tokensOfText(prepared.system) + tokensOfText(JSON.stringify(prepared.tools))
  counted.set(prepared, tokens)
  return tokens
}
