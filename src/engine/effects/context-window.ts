/** Whether an agent's next request fits into its model's context window, and what to do when it does not. */
import { tokensOfText } from '../../definitions/estimate.ts'
import { contextWindowOf } from '../../definitions/prices.ts'
import { compactable, epochOf } from '../../journal/projections/compaction.ts'
import type { Conversation } from '../../journal/projections/conversation.ts'
import type { AgentEventOf } from '../../machines/agent/events.ts'
import type { CallId } from '../../machines/ids.ts'
import type { Agent } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import { capContent } from './result-cap.ts'

/** A result with more UTF-16 units than this is cut to about half of it before a conversation is summed up. */
const LONG_RESULT = 4_000
/** Down to this part of the most tokens, so that not every request cuts a little more. */
const ROOM_AGAIN = 0.8

/**
 * Makes room for the next request if it needs any: by cutting old results, which is in the log when this resolves; or
 * returns the event that asks for a compaction. Undefined: the request may be made, and if nothing helped, as it is.
 */
export async function makeRoom(
  core: EngineCore,
  agent: Agent,
): Promise<AgentEventOf<'context.exceeded'> | undefined> {
  if (!core.features.autoCompact) return undefined
  const tokens = await agent.requests.inputTokens()
  const most = mostTokens(core, agent.model)
  if (tokens <= most) return undefined
  const conversation = await agent.conversation.load()
  const cut = await cutResults(core, agent, conversation, tokens - most * ROOM_AGAIN)
  if (cut !== undefined) {
    await agent.post(cut)
    return undefined
  }
  if (agent.run?.snapshot.context.cannotCompact === true || summed(conversation) === undefined)
    return undefined
  return { type: 'context.exceeded', tokens, of: Math.floor(most) }
}

/** What a compaction would sum up now; undefined when that is not worth it. */
export function summed(conversation: Conversation): ReturnType<typeof compactable> {
  return compactable((index) => conversation.at(index), conversation.length, conversation.ownFrom)
}

/** The most tokens that a request may send. A small window keeps half of itself for that, whatever a reply may have. */
function mostTokens({ modelFacts, maxTokens, limits }: EngineCore, model: string): number {
  const window = contextWindowOf(modelFacts(model))
  return Math.max(window / 2, window - maxTokens - limits.contextMargin)
}

/** Cuts the oldest long results until `excess` tokens are saved; undefined when there are not enough of them. */
async function cutResults(
  { limits }: EngineCore,
  agent: Agent,
  conversation: Conversation,
  excess: number,
): Promise<AgentEventOf<'results.cut'> | undefined> {
  const { first, cuts } = epochOf((index) => conversation.at(index), conversation.length)
  const long: { readonly index: number; readonly callId: CallId; readonly content: string }[] = []
  let latest: typeof long = []
  for (let index = first; index < conversation.length; index++) {
    const event = conversation.at(index)?.event
    // What the model has not seen yet stays whole.
    if (event?.type === 'reply.received') {
      long.push(...latest)
      latest = []
    }
    if (event?.type !== 'call.ended' || cuts.has(index)) continue
    const { content } = event.result
    if (typeof content === 'string' && content.length > Math.min(LONG_RESULT, limits.toolResultChars))
      latest.push({ index, callId: event.callId, content })
  }
  const results: AgentEventOf<'results.cut'>['results'] = []
  let saves = 0
  for (const { index, callId, content } of long) {
    if (saves >= excess) break
    const short = await capContent(content, agent.session.blobs, agent.session.paths, LONG_RESULT)
    if (typeof short !== 'string' || short.length >= content.length) continue
    const after = resultsBehind(conversation, index, callId)
    results.push({ callId, content: short, ...(after > 0 && { after }) })
    saves += tokensOfText(content) - tokensOfText(short)
  }
  return saves < excess || results.length === 0 ? undefined : { type: 'results.cut', results, saves }
}

/** How many results behind an entry are of calls with this id: a fork may have calls with the ids of its parent's. */
function resultsBehind(conversation: Conversation, index: number, callId: CallId): number {
  let count = 0
  for (const { event } of conversation.entries(index + 1))
    if (event.type === 'call.ended' && event.callId === callId) count += 1
  return count
}
