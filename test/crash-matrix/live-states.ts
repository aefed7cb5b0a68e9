/** What live agents were after each event, held against what their logs come to (law 2). */
import { isDeepStrictEqual } from 'node:util'
import type { Agent } from '../../src/engine/agent.ts'
import type { RunSnapshot } from '../../src/machines/agent/fold.ts'
import type { SeenLog } from './final.ts'

/** A live agent right after the event at this position. */
export interface SeenState {
  readonly agentId: string
  readonly seq: number
  readonly run: unknown
}

export const seenOf = (agent: Agent, seq: number): SeenState => ({
  agentId: agent.id,
  seq,
  run: shapeOf(agent.run?.snapshot),
})

/** Where a live agent was not what the log says, in words. */
export function differences(logs: readonly SeenLog[], seen: readonly SeenState[]): readonly string[] {
  const bySeq = new Map<string, SeenState[]>()
  for (const state of seen) {
    const key = `${state.agentId} ${state.seq}`
    bySeq.set(key, [...(bySeq.get(key) ?? []), state])
  }
  const found: string[] = []
  for (const { agentId, recorded, states } of logs) {
    for (const [i, { seq, event }] of recorded.entries()) {
      const key = `${agentId} ${seq}`
      for (const { run } of bySeq.get(key) ?? [])
        if (!isDeepStrictEqual(run, shapeOf(states[i]?.run)))
          found.push(`the live agent ${agentId} was not what its log says behind ${event.type} at ${seq}`)
      bySeq.delete(key)
    }
  }
  for (const key of bySeq.keys()) found.push(`an event was applied that no log has: ${key}`)
  return found
}

/** What a run is, apart from the running effects themselves: those that it wants, by name. */
function shapeOf(run: RunSnapshot | undefined): unknown {
  if (run === undefined) return undefined
  const { value, status, context, children } = run
  return { value, status, context, effects: status === 'active' ? Object.keys(children).sort() : [] }
}
