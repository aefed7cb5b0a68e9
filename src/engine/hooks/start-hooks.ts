/** The hooks of beginnings: of a session, of a prompt, of a child. */
import type { HookDecision } from '../../definitions/hooks/combine.ts'
import type { EventDraft, Fault } from '../../machines/agent/events.ts'
import { contentText } from '../../machines/agent/messages.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import type { HookMoment } from './engine-hooks.ts'
import { hookMessages, reasonsOf } from './engine-hooks.ts'

/** The moment at which a child starts. */
export const CHILD_START: HookMoment<'SubagentStart'> = { event: 'SubagentStart', facts: {} }

/** What the hooks add to a run that begins, or why it must not. */
export type Beginning =
  | { readonly kind: 'begin'; readonly events: readonly EventDraft[] }
  | { readonly kind: 'refused'; readonly fault: Fault }

/** Runs them. A child's see its start; the root's see the session and the prompt. */
export async function startHooks(
  core: EngineCore,
  agent: Agent,
  signal: () => AbortSignal,
): Promise<Beginning> {
  const decisions = await decisionsOf(core, agent, signal)
  const refusal = decisions.find(({ verdict, stop }) => verdict === 'block' || stop !== undefined)
  if (refusal !== undefined) {
    const reasons = reasonsOf(refusal.stop?.reasons ?? refusal.reasons)
    return {
      kind: 'refused',
      fault: { code: 'refused-by-hook', message: `a hook stopped the run (${reasons})`, retryable: false },
    }
  }
  return { kind: 'begin', events: decisions.flatMap(({ contexts }) => hookMessages(contexts)) }
}

async function decisionsOf(
  core: EngineCore,
  agent: Agent,
  signal: () => AbortSignal,
): Promise<readonly HookDecision[]> {
  const { hooks } = core
  if (agent.parent !== undefined) {
    const decision = await hooks.decide(agent, CHILD_START, signal)
    return decision === undefined ? [] : [decision]
  }
  const { session } = agent
  const begins = session.takesBeginning()
  const decisions = [
    begins
      ? await hooks.decide(
          agent,
          {
            event: 'SessionStart',
            // Another process is another start, of a session that is there already.
            which: core.lockInfo.engine,
            facts: { source: begins, model: agent.birth.plan.model.value },
          },
          signal,
        )
      : undefined,
    await hooks.decide(
      agent,
      { event: 'UserPromptSubmit', facts: { prompt: contentText(agent.notes.prompt) } },
      signal,
    ),
  ]
  return decisions.filter((decision) => decision !== undefined)
}
