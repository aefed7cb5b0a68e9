/**
 * Budgets: may a request be made, and with how many tokens for its reply? Pure arithmetic.
 *
 *   B1  What is spent, what is in flight at its most expensive, and the request at its most expensive together never
 *       exceed a limit. A request that does not fit is not made.
 *   B2  Near a limit the reply gets fewer tokens before the request is refused: a budget can be used up.
 *   B3  What only others in flight stand in the way of is no refusal: they may come to less than they might.
 */
import type { ModelFacts } from './prices.ts'

/** What is limited here. */
export type BudgetKind = 'tokens' | 'money'

/** Tokens of all kinds, and US dollars. */
export interface Amount {
  readonly tokens: number
  readonly usd: number
}

/** A limit and how it stands, for an agent and everybody below it. Undefined: not limited. */
export interface Standing {
  readonly tokens: number | undefined
  readonly usd: number | undefined
  /** What replies have cost. */
  readonly spent: Amount
  /** What requests in flight may cost at most, without the one that is asked for. */
  readonly reserved: Amount
}

/** A request that is to be made. */
export interface RequestAsk {
  /** Estimate of what it sends. */
  readonly inputTokens: number
  /** Tokens that its reply would like to have. */
  readonly maxTokens: number
  /** With fewer than these it is not worth a request. */
  readonly leastTokens: number
  /** Undefined: nobody knows, it counts as free. */
  readonly price: ModelFacts | undefined
}

/** What becomes of it. `later`: when others have settled there may be room. */
export type Admission<S extends Standing> =
  | { readonly kind: 'granted'; readonly maxTokens: number; readonly amount: Amount }
  | { readonly kind: 'later' }
  | {
      readonly kind: 'refused'
      readonly limit: BudgetKind
      readonly of: number
      readonly used: number
      /** What it would have cost at most, in the unit of the limit. */
      readonly asked: number
      readonly standing: S
    }

/** How full a budget is when somebody is warned. */
export const WARN_AT = 0.8

/** Tokens that a reply is worth asking for when a budget runs out. */
export const LEAST_REPLY_TOKENS = 4_096

/** Sums of money are sums of fractions: what is less than this apart is the same. */
const ROUNDING_USD = 1e-9

/** The most that a request can cost: nothing of it in the cache, and a reply of `maxTokens`. */
export function mostOf({ inputTokens, price }: RequestAsk, maxTokens: number): Amount {
  return { tokens: inputTokens + maxTokens, usd: inputUsd(inputTokens, price) + outputUsd(maxTokens, price) }
}

const inputUsd = (tokens: number, price: ModelFacts | undefined): number =>
  price === undefined ? 0 : (tokens * Math.max(price.input, price.cacheWrite)) / 1_000_000

const outputUsd = (tokens: number, price: ModelFacts | undefined): number =>
  price === undefined ? 0 : (tokens * price.output) / 1_000_000

/** Decides. Every standing must have room. */
export function admit<S extends Standing>(ask: RequestAsk, standings: readonly S[]): Admission<S> {
  const least = Math.min(ask.leastTokens, ask.maxTokens)
  const cheapest = mostOf(ask, least)
  let maxTokens = ask.maxTokens
  for (const standing of standings) {
    const { spent, tokens, usd } = standing
    if (tokens !== undefined && spent.tokens + cheapest.tokens > tokens) {
      const asked = cheapest.tokens
      return { kind: 'refused', limit: 'tokens', of: tokens, used: spent.tokens, asked, standing }
    }
    if (usd !== undefined && spent.usd + cheapest.usd > usd + ROUNDING_USD)
      return { kind: 'refused', limit: 'money', of: usd, used: spent.usd, asked: cheapest.usd, standing }
    maxTokens = Math.min(maxTokens, replyRoom(ask, standing))
  }
  return maxTokens < least
    ? { kind: 'later' }
    : { kind: 'granted', maxTokens, amount: mostOf(ask, maxTokens) }
}

/** Tokens that a reply may have under one standing. */
function replyRoom({ inputTokens, price }: RequestAsk, { tokens, usd, spent, reserved }: Standing): number {
  const byTokens =
    tokens === undefined ? Number.POSITIVE_INFINITY : tokens - spent.tokens - reserved.tokens - inputTokens
  if (usd === undefined || price === undefined || price.output === 0) return byTokens
  const left = usd - spent.usd - reserved.usd - inputUsd(inputTokens, price) + ROUNDING_USD
  return Math.min(byTokens, Math.floor((left / price.output) * 1_000_000))
}

/** The budgets that are nearly used up. */
export function nearlySpent({ tokens, usd, spent }: Standing): readonly {
  readonly limit: BudgetKind
  readonly of: number
  readonly used: number
}[] {
  return [
    ...(tokens !== undefined && spent.tokens >= tokens * WARN_AT
      ? [{ limit: 'tokens' as const, of: tokens, used: spent.tokens }]
      : []),
    ...(usd !== undefined && spent.usd >= usd * WARN_AT
      ? [{ limit: 'money' as const, of: usd, used: spent.usd }]
      : []),
  ]
}
