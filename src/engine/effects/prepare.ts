/** Resolves what a run is asked with — prompt and tools — and stores both once per session. */
import type { EffectInput } from '../../machines/agent/machine.ts'
import type { Effect } from '../effect-logic.ts'

export const prepare: Effect<EffectInput> = async ({ agent }) => {
  const { prepared, system, tools } = await agent.session.prepare(agent)
  agent.prepared = prepared
  return [{ type: 'agent.prepared', system, tools }]
}
