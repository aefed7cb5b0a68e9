/** What the tokens of an agent and its descendants come to. */
import * as z from 'zod'
import type { ModelUsage } from '../journal/projections/usage.ts'
import { addUsage } from '../machines/agent/context.ts'
import { Usage } from '../machines/agent/messages.ts'

/** The sum over all models. */
export function totalOf(usage: ModelUsage): Usage {
  return Object.values(usage).reduce(addUsage, { input_tokens: 0, output_tokens: 0 })
}

const WithModelUsage = z.looseObject({ modelUsage: z.record(z.string(), Usage) })

const ours = new WeakSet<object>()

/** Marks a structured result that this process has made itself: what it says of usage is taken without a check. */
export function ownResult<T extends { readonly modelUsage: ModelUsage }>(result: T): T {
  ours.add(result)
  return result
}

/** What a delivered child cost, from the structured result of its parent's call. */
export function modelUsageOf(toolUseResult: unknown): ModelUsage {
  if (isOurs(toolUseResult)) return toolUseResult.modelUsage
  const parsed = WithModelUsage.safeParse(toolUseResult)
  return parsed.success ? parsed.data.modelUsage : {}
}

function isOurs(result: unknown): result is { readonly modelUsage: ModelUsage } {
  return typeof result === 'object' && result !== null && ours.has(result)
}
