/** Resolves what a run is asked with: servers, tools, prompt, and what the agent is told before its task. */
import type { EffectInput } from '../../machines/agent/machine.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import { startHooks } from '../hooks/start-hooks.ts'
import { introduce, memorySection } from '../introduce.ts'
import { reportSchemaOf, reportSchemaProblems } from '../render.ts'

export function prepare(core: EngineCore): Effect<EffectInput> {
  return async (context) => {
    const { agent } = context
    await agent.equip(() => context.signal)
    const beginning = await startHooks(core, agent, () => context.signal)
    if (beginning.kind === 'refused') return [{ type: 'agent.faulted', fault: beginning.fault }]
    const memory = memorySection(core, agent)
    const { prepared, system, tools } = await agent.session.prepare(agent, memory)
    agent.prepared = prepared
    for (const { code, message } of reportSchemaProblems(agent)) core.diagnose(code, message)
    const hasSchema = reportSchemaOf(agent) !== undefined
    const corrections = core.limits.reportNudges
    // The root speaks to a person, who asks again if need be.
    const looksAtReport = hasSchema || (agent.parent !== undefined && corrections > 0)
    return [
      ...(await introduce(core, agent)),
      ...beginning.events,
      {
        type: 'agent.prepared',
        system,
        tools,
        ...(looksAtReport && { report: { hasSchema, corrections } }),
      },
    ]
  }
}
