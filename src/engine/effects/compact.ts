/**
 * Sums a conversation up, with a request of its own on the same prefix: same prompt, same tools, same messages, so that
 * what the server has cached of them serves once more. A crash in here costs that request: it is made again.
 */
import { COMPACTION_REQUEST, rosterText } from '../../definitions/compaction.ts'
import { ModelError } from '../../effects/model/model.ts'
import { collect } from '../../effects/model/reply-stream.ts'
import type { Conversation } from '../../journal/projections/conversation.ts'
import { requestMessages } from '../../journal/projections/request-messages.ts'
import type { ModelUsage } from '../../journal/projections/usage.ts'
import { addModelUsage } from '../../journal/projections/usage.ts'
import type { EffectInput } from '../../machines/agent/effects.ts'
import type { AgentEventOf, Fault } from '../../machines/agent/events.ts'
import type { RequestMessage } from '../../machines/agent/messages.ts'
import { textOf } from '../../machines/agent/messages.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import { reasonsOf } from '../hooks/engine-hooks.ts'
import { summed } from './context-window.ts'
import { admitRequest } from './limits.ts'
import { modelRequest } from './model-request.ts'

/** One that does not succeed is tried once more. */
const ATTEMPTS = 2

export function compact(core: EngineCore): Effect<EffectInput> {
  return async (effect) => {
    const { agent } = effect
    const conversation = await agent.conversation.load()
    const part = summed(conversation)
    if (part === undefined) return [failed(NOTHING_TO_SUM_UP)]
    const turns = agent.run?.snapshot.context.turns ?? 0
    const moment = {
      event: 'PreCompact',
      which: String(turns),
      facts: { trigger: 'auto', custom_instructions: '' },
    } as const
    const decision = await core.hooks.decide(agent, moment, () => effect.signal)
    if (decision?.verdict === 'block')
      return [
        failed(fault('refused-by-hook', `a hook refused the compaction (${reasonsOf(decision.reasons)})`)),
      ]
    const tokens = await agent.requests.inputTokens()
    const summary = await summarise(
      core,
      agent,
      messagesFor(conversation, part.entries, agent.model),
      effect.signal,
    )
    if (summary.kind !== 'done') return [summary.event]
    const roster = rosterOf(core, agent)
    return [
      {
        type: 'conversation.compacted',
        summary: summary.text,
        upTo: part.upTo,
        trigger: 'auto',
        tokens,
        modelUsage: summary.modelUsage,
        ...(roster !== undefined && { roster }),
      },
    ]
  }
}

type Summary =
  | { readonly kind: 'done'; readonly text: string; readonly modelUsage: Record<string, ModelUsage[string]> }
  | { readonly kind: 'none'; readonly event: AgentEventOf<'compaction.failed' | 'budget.refused'> }

async function summarise(
  core: EngineCore,
  agent: Agent,
  messages: readonly RequestMessage[],
  signal: AbortSignal,
): Promise<Summary> {
  let modelUsage: ModelUsage = {}
  let why: Fault = NOTHING_TO_SUM_UP
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const admission = await admitRequest(core, agent, signal)
    if (admission.kind === 'refused') {
      // What a first attempt has cost must not be lost; the next request is refused for the same reason.
      return { kind: 'none', event: attempt === 1 ? admission.event : failed(why, modelUsage) }
    }
    signal.throwIfAborted()
    const startedAt = core.clock.now()
    try {
      const { reply } = await collect(
        core.model.stream(
          modelRequest(agent, messages, { maxTokens: admission.maxTokens, source: 'compact' }),
          signal,
        ),
        signal,
        () => {},
      )
      modelUsage = addModelUsage(modelUsage, { [reply.model]: reply.usage })
      const text = reply.stop_reason === 'refusal' ? '' : textOf(reply.content)
      if (text !== '') return { kind: 'done', text, modelUsage: { ...modelUsage } }
      why = fault('no-summary', 'the model was asked to sum up its conversation and wrote nothing')
    } catch (error) {
      if (!ModelError.is(error) || signal.aborted) throw error
      why = { code: error.code, message: error.message, retryable: error.retryable }
    } finally {
      agent.notes.addApiTime(core.clock.now() - startedAt)
    }
  }
  return { kind: 'none', event: failed(why, modelUsage) }
}

/** The first entries as a request has them, and what asks for the summary. */
function messagesFor(conversation: Conversation, entries: number, model: string): readonly RequestMessage[] {
  const part = conversation.fork(entries)
  part.push({
    seq: Number.MAX_SAFE_INTEGER,
    at: 0,
    lines: [],
    event: {
      type: 'message.added',
      about: 'compaction',
      content: COMPACTION_REQUEST,
      origin: { from: 'engine' },
    },
  })
  return requestMessages(part.entries(), model)
}

function rosterOf(core: EngineCore, agent: Agent): string | undefined {
  const running = agent.digest.owed
    .map(({ agentId }) => core.agents.get(agentId))
    .filter((child) => child?.isRunning === true)
    .filter((child) => child !== undefined)
  return rosterText(
    running.map(({ id, birth: { plan } }) => ({
      agentId: id,
      agentType: plan.agentType,
      description: plan.description,
    })),
  )
}

const fault = (code: string, message: string): Fault => ({ code, message, retryable: false })

const NOTHING_TO_SUM_UP = fault('no-summary', 'there is nothing in the conversation that could be summed up')

const failed = (why: Fault, modelUsage: ModelUsage = {}): AgentEventOf<'compaction.failed'> => ({
  type: 'compaction.failed',
  fault: why,
  ...(Object.keys(modelUsage).length > 0 && { modelUsage: { ...modelUsage } }),
})
