/**
 * What known models cost, and how much they read at once. A model that is not here costs 0 in our figures: no price is
 * better than a wrong one.
 */
import type { ReportUsage } from './report.ts'

/** US dollars per million tokens, and the size of the context window in tokens. */
export interface ModelFacts {
  readonly input: number
  readonly output: number
  readonly cacheWrite: number
  readonly cacheRead: number
  readonly contextWindow: number
}

/** Looks a model id up. */
export type PriceList = (model: string) => ModelFacts | undefined

/** Cache writes live five minutes and cost 1.25 times the input. */
const facts = (input: number, output: number, cacheRead: number, contextWindow: number): ModelFacts => ({
  input,
  output,
  cacheWrite: input * 1.25,
  cacheRead,
  contextWindow,
})

const K200 = 200_000
const M1 = 1_000_000

/** By the start of the id; the first that fits counts, so the longer of two comes first. As of November 2026. */
const KNOWN: readonly (readonly [prefix: string, facts: ModelFacts])[] = [
  ['claude-opus-5-5', facts(4, 20, 0.2, M1)],
  ['claude-opus-5', facts(5, 25, 0.5, M1)],
  ['claude-opus-4-5', facts(5, 25, 0.5, K200)],
  ['claude-opus-4-6', facts(5, 25, 0.5, K200)],
  ['claude-opus-4-1', facts(15, 75, 1.5, K200)],
  ['claude-sonnet-5-5', facts(2, 10, 0.1, M1)],
  ['claude-sonnet-5', facts(2, 10, 0.2, M1)],
  ['claude-sonnet-4', facts(3, 15, 0.3, K200)],
  // Prompts over 100,000 tokens cost more; sums of many requests do not tell which were.
  ['claude-haiku-5-5', facts(0.1, 0.5, 0.01, M1)],
  ['claude-haiku-4-5', facts(1, 5, 0.1, K200)],
]

/** List prices of Claude models. */
export const listPrices: PriceList = (model) => KNOWN.find(([prefix]) => model.startsWith(prefix))?.[1]

/** What a host knows better: facts by the start of a model id. What it leaves out is as listed. */
export type ModelFactsTable = Readonly<Record<string, Partial<ModelFacts>>>

/** The list with a host's entries in front; of those that fit an id, the longest counts. */
export function withOwnFacts(own: ModelFactsTable, list: PriceList = listPrices): PriceList {
  const prefixes = Object.keys(own).toSorted((a, b) => b.length - a.length)
  if (prefixes.length === 0) return list
  return (model) => {
    const prefix = prefixes.find((start) => model.startsWith(start))
    const listed = list(model)
    if (prefix === undefined) return listed
    return { ...FREE, ...listed, ...own[prefix] }
  }
}

/** What a model costs of which a host says only part, and nobody else anything. */
const FREE: ModelFacts = { input: 0, output: 0, cacheWrite: 0, cacheRead: 0, contextWindow: K200 }

/** The context window of a model in tokens; of one that nobody knows, the smallest of the known ones. */
export const contextWindowOf = (facts: ModelFacts | undefined): number => facts?.contextWindow ?? K200

/** US dollars; 0 for a model without a price. */
export function costOf(usage: ReportUsage, price: ModelFacts | undefined): number {
  if (price === undefined) return 0
  const perMillion =
    usage.input_tokens * price.input +
    usage.output_tokens * price.output +
    (usage.cache_creation_input_tokens ?? 0) * price.cacheWrite +
    (usage.cache_read_input_tokens ?? 0) * price.cacheRead
  return perMillion / 1_000_000
}
