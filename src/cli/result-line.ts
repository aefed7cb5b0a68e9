/** The end of a run as one object: the `result` line of `stream-json`, and all of `json`. Pure. */

import { costOf, type PriceList } from '../definitions/prices.ts'
import type { RunResult } from '../engine/api.ts'
import type { Usage } from '../machines/agent/messages.ts'

export type ResultSubtype = 'success' | 'error_max_turns' | 'error_max_budget_usd' | 'error_during_execution'

/** What one model was used for. */
interface ModelUsageLine {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadInputTokens: number
  readonly cacheCreationInputTokens: number
  readonly webSearchRequests: number
  readonly costUSD: number
  /** Absent where the model is not known. */
  readonly contextWindow?: number
  /** `max_tokens` of the requests. */
  readonly maxOutputTokens: number
}

export interface ResultLine {
  readonly type: 'result'
  readonly subtype: ResultSubtype
  readonly is_error: boolean
  readonly duration_ms: number
  /** Time in model requests, of the root and all its descendants; they may overlap. */
  readonly duration_api_ms: number
  readonly num_turns: number
  /** The report; after a limit or a failure what there is of it. */
  readonly result: string
  readonly stop_reason: string | null
  readonly session_id: string
  /** Of all agents; models without a known price count 0. */
  readonly total_cost_usd: number
  /** Of the root's own requests. */
  readonly usage: Usage
  /** Of all agents, per model. */
  readonly modelUsage: Readonly<Record<string, ModelUsageLine>>
  readonly permission_denials: readonly {
    readonly tool_name: string
    readonly tool_use_id: string
    readonly tool_input: unknown
  }[]
  /** Why it is an error. Absent on success. */
  readonly errors?: readonly string[]
  readonly uuid: string
}

export interface ResultContext {
  readonly uuid: string
  readonly ownUsage: Usage
  readonly prices: PriceList
  readonly maxOutputTokens: number
}

/** The result object of a run. */
export function resultLine(result: RunResult, context: ResultContext): ResultLine {
  const modelUsage = Object.fromEntries(
    Object.entries(result.modelUsage).map(([model, usage]) => [model, modelUsageLine(model, usage, context)]),
  )
  const subtype = subtypeOf(result)
  const error = errorOf(result)
  return {
    type: 'result',
    subtype,
    is_error: subtype !== 'success',
    duration_ms: result.durationMs,
    duration_api_ms: result.apiDurationMs,
    num_turns: result.turns,
    result: result.text,
    stop_reason: result.stopReason ?? null,
    session_id: result.sessionId,
    total_cost_usd: Object.values(modelUsage).reduce((sum, { costUSD }) => sum + costUSD, 0),
    usage: context.ownUsage,
    modelUsage,
    permission_denials: result.denials.map(({ toolName, toolUseId, toolInput }) => ({
      tool_name: toolName,
      tool_use_id: toolUseId,
      tool_input: toolInput,
    })),
    ...(error !== undefined && { errors: [error] }),
    uuid: context.uuid,
  }
}

/** Whether a run did what it was asked to. Only this exits with 0. */
export function subtypeOf({ outcome }: Pick<RunResult, 'outcome'>): ResultSubtype {
  switch (outcome.kind) {
    case 'completed':
    case 'partial':
    case 'no_report':
      return 'success'
    case 'limit':
      if (outcome.limit === 'turns') return 'error_max_turns'
      return outcome.limit === 'money' ? 'error_max_budget_usd' : 'error_during_execution'
    case 'invalid_report':
    case 'failed':
    case 'killed':
      return 'error_during_execution'
  }
}

/** Why a run is no success, in words; undefined when it is one. */
export function errorOf({ outcome, turns }: Pick<RunResult, 'outcome' | 'turns'>): string | undefined {
  switch (outcome.kind) {
    case 'completed':
    case 'partial':
    case 'no_report':
      return undefined
    case 'limit':
      if (outcome.limit === 'context')
        return `the conversation outgrew the model's context window after ${turns} turn${turns === 1 ? '' : 's'}${outcome.problem === undefined ? '' : `: ${outcome.problem}`}`
      return `the limit of ${outcome.limit} was reached after ${turns} turn${turns === 1 ? '' : 's'}`
    case 'invalid_report':
      return `the report does not have the form that was asked for: ${outcome.problem}`
    case 'failed':
      return `${outcome.fault.message} (${outcome.fault.code})`
    case 'killed':
      return `killed by ${outcome.by}${outcome.reason === undefined ? '' : `: ${outcome.reason}`}`
  }
}

function modelUsageLine(
  model: string,
  usage: Usage,
  { prices, maxOutputTokens }: ResultContext,
): ModelUsageLine {
  const price = prices(model)
  return {
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cacheReadInputTokens: usage.cache_read_input_tokens ?? 0,
    cacheCreationInputTokens: usage.cache_creation_input_tokens ?? 0,
    // No tool of ours searches the web, and the sums of the engine have no such count.
    webSearchRequests: 0,
    costUSD: costOf(usage, price),
    ...(price !== undefined && { contextWindow: price.contextWindow }),
    maxOutputTokens,
  }
}
