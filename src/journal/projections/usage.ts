/**
 * What a conversation's requests cost in tokens, per model: of the run that is on or was last, and of all runs.
 * A fork counts from nothing, as its parent's requests are not its own.
 */
import { addUsage } from '../../machines/agent/context.ts'
import type { AgentEvent, Recorded } from '../../machines/agent/events.ts'
import type { Usage } from '../../machines/agent/messages.ts'

/** Sums of token counts, by the model's name as its replies give it. */
export type ModelUsage = Readonly<Record<string, Usage>>

export interface UsageTotals {
  /** Takes the next event of the log; O(1). */
  push(recorded: Recorded): void
  /** Since the last `run.started`. */
  ofRun(): ModelUsage
  /** Of every run. */
  ofAll(): ModelUsage
}

export function createUsageTotals(): UsageTotals {
  const all = new Map<string, Usage>()
  const run = new Map<string, Usage>()
  return {
    push: ({ event }) => {
      if (event.type === 'run.started') run.clear()
      for (const [model, usage] of Object.entries(requestUsageOf(event)))
        for (const sums of [run, all]) addTo(sums, model, usage)
    },
    ofRun: () => Object.fromEntries(run),
    ofAll: () => Object.fromEntries(all),
  }
}

/** What the requests cost that an event is the outcome of: one for a reply, or those beside the turns. */
export function requestUsageOf(event: AgentEvent): ModelUsage {
  switch (event.type) {
    case 'reply.received':
      return { [event.reply.model]: event.reply.usage }
    case 'review.ended':
    case 'call.classified':
      return event.usage === undefined ? {} : { [event.model ?? 'unknown']: event.usage }
    case 'conversation.compacted':
    case 'compaction.failed':
    case 'progress.summarised':
      return event.modelUsage ?? {}
    default:
      return {}
  }
}

/** The usage of two agents together, or of an agent and its descendants. */
export function addModelUsage(a: ModelUsage, b: ModelUsage): ModelUsage {
  const sums = new Map(Object.entries(a))
  for (const [model, usage] of Object.entries(b)) addTo(sums, model, usage)
  return Object.fromEntries(sums)
}

function addTo(sums: Map<string, Usage>, model: string, usage: Usage): void {
  const before = sums.get(model)
  sums.set(model, addUsage(before ?? { input_tokens: 0, output_tokens: 0 }, usage))
}
