/** Tokens per model, of an agent and of the descendants it started. */
import { z } from 'zod'
import { addUsage } from '../machines/agent/context.ts'
import { Usage } from '../machines/agent/messages.ts'

export type ModelUsage = Readonly<Record<string, Usage>>

const NO_TOKENS: Usage = { input_tokens: 0, output_tokens: 0 }

/** The sum of two tables. */
export function addModelUsage(a: ModelUsage, b: ModelUsage): ModelUsage {
  const sum: Record<string, Usage> = { ...a }
  for (const [model, usage] of Object.entries(b)) sum[model] = addUsage(sum[model] ?? NO_TOKENS, usage)
  return sum
}

/** The sum over all models. */
export function totalOf(usage: ModelUsage): Usage {
  return Object.values(usage).reduce(addUsage, NO_TOKENS)
}

const WithModelUsage = z.looseObject({ modelUsage: z.record(z.string(), Usage) })

/** What a delivered child cost, from the structured result of its parent's call. */
export function modelUsageOf(toolUseResult: unknown): ModelUsage {
  const parsed = WithModelUsage.safeParse(toolUseResult)
  return parsed.success ? parsed.data.modelUsage : {}
}
