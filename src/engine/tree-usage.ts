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

/** What a delivered child cost, from the structured result of its parent's call. */
export function modelUsageOf(toolUseResult: unknown): ModelUsage {
  const parsed = WithModelUsage.safeParse(toolUseResult)
  return parsed.success ? parsed.data.modelUsage : {}
}
