/** The hooks around one tool call. */
import type { HookDecision } from '../../definitions/hooks/combine.ts'
import type { Tool } from '../../effects/tools/tool.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import { contentText } from '../../machines/agent/messages.ts'
import type { EngineCore } from '../core.ts'
import { withTexts } from '../effects/results.ts'
import type { Call } from '../effects/run-call.ts'
import { hookEnvelope, reasonsOf } from './engine-hooks.ts'

type CallEnded = AgentEventOf<'call.ended'>

/** What hooks made of a call before it runs. */
export interface BeforeCall {
  /** Why it must not run, for the model. */
  readonly refused?: string
  readonly input: unknown
  /** A prompt is needed, or is not, whatever the mode says. Rules that deny are not asked about it. */
  readonly permission: 'as usual' | 'ask' | 'allow'
  readonly decision: HookDecision | undefined
}

/** Runs the hooks before a call; after a restart of one that was started, only what the log says of them counts. */
export async function beforeCall(
  core: EngineCore,
  call: Call,
  tool: Tool,
  input: unknown,
): Promise<BeforeCall> {
  const { agent, callId, block, started } = call
  const plain: BeforeCall = { input, permission: 'as usual', decision: undefined }
  const which = callId
  if (started !== undefined && !agent.digest.hooks.has(`PreToolUse ${which}`)) return plain
  const facts = { tool_name: tool.name, tool_input: block.input, tool_use_id: block.id }
  const decision = await core.hooks.decide(agent, { event: 'PreToolUse', which, facts }, () => call.signal)
  if (decision === undefined) return plain
  if (decision.stop !== undefined || decision.verdict === 'deny') {
    const reasons = reasonsOf(decision.stop?.reasons ?? decision.reasons)
    if (decision.stop !== undefined)
      await agent.post({ type: 'kill.requested', by: 'a hook', reason: reasons })
    return {
      ...plain,
      decision,
      refused: `${tool.name} was refused by a hook (${reasons}). Do not try to reach the same end by another way.`,
    }
  }
  const permission = decision.verdict === 'ask' ? 'ask' : decision.verdict === 'allow' ? 'allow' : 'as usual'
  if (decision.updatedInput === undefined) return { input, permission, decision }
  const changed = tool.inputSchema.safeParse(decision.updatedInput)
  if (changed.success) return { input: changed.data, permission, decision }
  const refused = `A hook gave ${tool.name} an input that it does not take, so it was not run.`
  return { ...plain, decision, refused }
}

/** What the hooks of a permission prompt decide before anybody is asked; undefined: ask. */
export async function permissionHooks(
  core: EngineCore,
  { agent, callId, block, signal }: Call,
  tool: Tool,
): Promise<{ readonly decision: 'allow' | 'deny'; readonly why: string } | undefined> {
  const facts = { tool_name: tool.name, tool_input: block.input, tool_use_id: block.id }
  const moment = { event: 'PermissionRequest', which: callId, facts } as const
  const decision = await core.hooks.decide(agent, moment, () => signal)
  if (decision?.verdict !== 'allow' && decision?.verdict !== 'deny') return undefined
  return { decision: decision.verdict, why: reasonsOf(decision.reasons) }
}

/** The result with what hooks have to say about it. */
export async function afterCall(
  core: EngineCore,
  call: Call,
  before: HookDecision | undefined,
  ended: CallEnded,
): Promise<CallEnded> {
  const after = await afterDecision(core, call, ended)
  const texts = [...(before?.contexts ?? []), ...(after?.contexts ?? [])]
  return withTexts(ended, texts.map(hookEnvelope))
}

async function afterDecision(
  core: EngineCore,
  { agent, callId, block, signal }: Call,
  { outcome, result, toolUseResult }: CallEnded,
): Promise<HookDecision | undefined> {
  // An aborted call has no time for hooks, and a refused one has not run.
  if (outcome === 'denied' || signal.aborted) return undefined
  const facts = { tool_name: block.name, tool_input: block.input, tool_use_id: block.id }
  const text = contentText(result.content ?? '')
  return outcome === 'ok'
    ? core.hooks.decide(
        agent,
        {
          event: 'PostToolUse',
          which: callId,
          facts: { ...facts, tool_response: toolUseResult ?? text },
        },
        () => signal,
      )
    : core.hooks.decide(
        agent,
        {
          event: 'PostToolUseFailure',
          which: callId,
          facts: { ...facts, error: text, ...(outcome === 'interrupted' && { is_interrupt: true }) },
        },
        () => signal,
      )
}
