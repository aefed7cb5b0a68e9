/** Asks the model for the next reply. A crash in here costs one request: it is simply made again. */

import { checkedReply } from '../../effects/model/check-reply.ts'
import { ModelError } from '../../effects/model/model.ts'
import { collect } from '../../effects/model/reply-stream.ts'
import type { ToolTable } from '../../effects/tools/tool-table.ts'
import type { EffectInput } from '../../machines/agent/effects.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type { Reply } from '../../machines/agent/messages.ts'
import { isToolUse } from '../../machines/agent/messages.ts'
import type { EngineCore } from '../core.ts'
import type { Effect } from '../effect-logic.ts'
import { mayHaveNews, newsFor, newsLine } from '../news.ts'
import { hasNews, tellListings } from '../tell-listings.ts'
import { makeRoom } from './context-window.ts'
import { admitRequest, inTime, refusedForTime } from './limits.ts'
import { modelRequest } from './model-request.ts'

export function requestModel(core: EngineCore): Effect<EffectInput> {
  return async (effect) => {
    const { agent, signal } = effect
    await agent.equipment.open(() => signal)
    if (hasNews(core, agent)) await tellListings(core, agent)
    if (mayHaveNews(agent)) {
      const news = await newsFor(core, agent)
      if (news !== undefined) await agent.post(newsLine(news))
    }
    const tooLong = await makeRoom(core, agent)
    if (tooLong !== undefined) return [tooLong]
    const { model } = agent
    const messages = await agent.requests.messages(model)
    const admission = await admitRequest(core, agent, signal)
    if (admission.kind === 'refused') return [admission.event]
    signal.throwIfAborted()
    const request = modelRequest(agent, messages, {
      maxTokens: admission.maxTokens,
      source: agent.requestSource,
    })
    agent.bounds.summaries?.note(request)
    const startedAt = core.clock.now()
    const haste = inTime(agent, signal)
    try {
      const collected = await collect(core.model.stream(request, haste.signal), haste.signal, (delta) => {
        haste.note(delta)
        agent.delta(delta)
      })
      const { requestId } = collected
      const reply = checkedReply(collected.reply)
      agent.notes.addApiTime(core.clock.now() - startedAt)
      return [
        {
          type: 'reply.received',
          reply,
          concurrencySafe: concurrencyOf(agent.equipment.servers.table, reply),
          ...(requestId !== undefined && { requestId }),
        },
      ]
    } catch (error) {
      agent.notes.addApiTime(core.clock.now() - startedAt)
      if (haste.isOver && !signal.aborted) return [refusedForTime(core, agent)]
      if (!ModelError.is(error) || signal.aborted) throw error
      const change = changeOfModel(core, model, error)
      if (change !== undefined && (await agent.post(change)) === 'taken') return requestModel(core)(effect)
      return [
        {
          type: 'request.failed',
          fault: { code: error.code, message: error.message, retryable: error.retryable },
          attempts: error.attempts,
        },
      ]
    } finally {
      haste.end()
    }
  }
}

/** The model that takes the place of one that has too much to do or fails, after all retries; none for that one itself. */
function changeOfModel(
  { fallbackModel }: EngineCore,
  model: string,
  { code, message, retryable }: ModelError,
): AgentEventOf<'model.changed'> | undefined {
  if (fallbackModel === undefined || fallbackModel === model) return undefined
  if (code !== 'overloaded' && code !== 'server') return undefined
  return { type: 'model.changed', from: model, to: fallbackModel, why: { code, message, retryable } }
}

/** For each block: may it run beside its neighbours? A call that cannot be understood runs nothing, so it may. */
function concurrencyOf(tools: ToolTable, reply: Reply): boolean[] {
  return reply.content.map((block) => {
    if (!isToolUse(block)) return false
    const parsed = tools.parseCall(block.name, block.input)
    try {
      return parsed.ok ? parsed.tool.isConcurrencySafe(parsed.input) : true
    } catch {
      // It must not throw; one that does runs alone, and says so when it is run.
      return false
    }
  })
}
