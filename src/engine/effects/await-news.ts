/** Waits until there is something that the agent must be told: the end of a child in the background, or a message. */
import type { EffectInput } from '../../machines/agent/effects.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import { newsFor, newsLine } from '../news.ts'
import { nextMacrotask, orAborted } from '../waits.ts'

export function awaitNews(core: EngineCore): Effect<EffectInput> {
  return async ({ agent, signal }) => {
    while (true) {
      // Before it looks, so that nothing arrives in between.
      const arrived = agent.news.next()
      // Ends of one moment are told together.
      await nextMacrotask()
      const news = await newsFor(core, agent)
      signal.throwIfAborted()
      if (news !== undefined) return [newsLine(news)]
      await orAborted(arrived, signal)
    }
  }
}
