/**
 * What the agents of a session may still spend.
 *
 * Owns: which requests are in flight, and which may begin. Does not own: how much a limit leaves (`definitions/budget.ts`),
 * and what was spent, which is in the logs.
 *
 *   U1  What is spent is read off the agents' digests each time, so that live and after a restart the same holds, and
 *       the sums are those that are shown. An end that its parent's log does not have yet is kept until it has it.
 *   U2  A request holds what it may cost at most until its reply is in its agent's digest. Judgements on an agent hold
 *       theirs beside its request, each by a name.
 *   U3  A request that only others in flight stand in the way of waits for them. They never wait for it.
 *   U4  Where nothing is limited nothing is counted, measured or kept.
 */
import type { Amount, RequestAsk, Standing } from '../definitions/budget.ts'
import { admit, nearlySpent } from '../definitions/budget.ts'
import { costOf } from '../definitions/prices.ts'
import { totalTokensOf } from '../definitions/report.ts'
import type { ModelUsage } from '../journal/projections/usage.ts'
import type { AgentEventOf, RunKey } from '../machines/agent/events.ts'
import type { Usage } from '../machines/agent/messages.ts'
import { runName } from '../machines/agent/run-key.ts'
import type { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'

/** A request that may be made, with so many tokens for its reply; or the event that says why it may not. */
export type Admitted =
  | { readonly kind: 'granted'; readonly maxTokens: number }
  | { readonly kind: 'refused'; readonly event: AgentEventOf<'budget.refused'> }

interface OwnedStanding extends Standing {
  readonly owner: Agent
}

interface Reservation {
  readonly agent: Agent
  readonly amount: Amount
  /** Its reply is there, and this is what it cost; the agent's digest does not have it yet. */
  readonly isSpent?: boolean
}

interface UntoldEnd {
  readonly agent: Agent
  readonly modelUsage: ModelUsage
}

export class SessionBudget {
  readonly #core: EngineCore
  readonly #agents: () => readonly Agent[]
  /** By the agent's id, and by what a request beside its turns is about. */
  readonly #reserved = new Map<string, Reservation>()
  readonly #untold = new Map<string, UntoldEnd>()
  readonly #unpriced = new Set<string>()
  #waiting: (() => void)[] = []

  /** `agents`: those that are live in the session. */
  constructor(core: EngineCore, agents: () => readonly Agent[]) {
    this.#core = core
    this.#agents = agents
  }

  /** Whether the requests of an agent count towards any budget. */
  limits(agent: Agent): boolean {
    const { tokens, usd } = this.#core.limits
    if (tokens !== undefined || usd !== undefined) return true
    for (const one of lineOf(agent)) if (one.birth.plan.tokens !== undefined) return true
    return false
  }

  /**
   * Lets a request begin, or says why it may not. Waits while only requests in flight stand in its way; rejects with the
   * signal's reason then. Asked for an agent with limits only. `about`: what a request beside the agent's turns is
   * for, which is held for itself.
   */
  async admit(
    agent: Agent,
    ask: RequestAsk,
    model: string,
    signal: AbortSignal,
    about?: string,
  ): Promise<Admitted> {
    const name = holdName(agent.id, about)
    this.#reserved.delete(name)
    if (ask.price === undefined) this.#tellUnpriced(model)
    while (true) {
      signal.throwIfAborted()
      const standings = this.#standingsOf(agent)
      for (const standing of standings) warn(standing)
      const admission = admit(ask, standings)
      if (admission.kind === 'granted') {
        this.#reserved.set(name, { agent, amount: admission.amount })
        return { kind: 'granted', maxTokens: admission.maxTokens }
      }
      if (admission.kind === 'refused') {
        const { limit, of, used, asked, standing } = admission
        const owner = standing.owner.id === agent.id ? {} : { owner: standing.owner.id }
        return { kind: 'refused', event: { type: 'budget.refused', limit, of, used, asked, ...owner } }
      }
      await this.#settled(signal)
    }
  }

  /** Whether a request of the agent is in flight, or about to be. */
  holds(agentId: AgentId): boolean {
    return this.#reserved.size > 0 && this.#reserved.has(agentId)
  }

  /** The request of an agent, or about it, is over: what it cost is in its digest. */
  release(agentId: AgentId, about?: string): void {
    if (this.#reserved.delete(holdName(agentId, about))) this.#wake()
  }

  /** The classifier has answered: until that is in the agent's digest, what it cost counts as spent. */
  answered(agent: Agent, about: string, model: string, usage: Usage): void {
    const name = holdName(agent.id, about)
    if (!this.#reserved.has(name)) return
    const amount = { tokens: totalTokensOf(usage), usd: costOf(usage, this.#core.modelFacts(model)) }
    this.#reserved.set(name, { agent, amount, isSpent: true })
    this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }

  /** An agent has ended and is let go; its parent's log does not have its usage yet. */
  keep(agent: Agent, run: number, modelUsage: ModelUsage): void {
    if (!this.limits(agent)) return
    this.#untold.set(runName({ agentId: agent.id, run }), { agent, modelUsage })
  }

  /** It has cost more since: its work was reviewed. */
  keepAgain(key: RunKey, modelUsage: ModelUsage): void {
    const kept = this.#untold.get(runName(key))
    if (kept !== undefined) this.#untold.set(runName(key), { ...kept, modelUsage })
  }

  /** Now it has. */
  told(key: RunKey): void {
    if (this.#untold.size > 0) this.#untold.delete(runName(key))
  }

  #settled(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.push(() => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      })
    })
  }

  /** The limits that a request of the agent counts towards: its own and those of everybody above it. */
  #standingsOf(agent: Agent): readonly OwnedStanding[] {
    const { tokens, usd } = this.#core.limits
    return [...lineOf(agent)].flatMap((owner) => {
      const own = owner.birth.plan.tokens?.value
      const isRoot = owner.parent === undefined && (tokens !== undefined || usd !== undefined)
      if (own === undefined && !isRoot) return []
      const stands = { owner, spent: this.#spentBy(owner), reserved: this.#reservedBy(owner) }
      return [
        ...(own === undefined ? [] : [{ ...stands, tokens: own, usd: undefined }]),
        ...(isRoot ? [{ ...stands, tokens, usd }] : []),
      ]
    })
  }

  #spentBy(owner: Agent): Amount {
    let tokens = 0
    let usd = 0
    const add = (usage: ModelUsage): void => {
      for (const [model, counts] of Object.entries(usage)) {
        tokens += totalTokensOf(counts)
        usd += costOf(counts, this.#core.modelFacts(model))
      }
    }
    for (const agent of this.#agents()) if (isWithin(agent, owner)) add(agent.modelUsage)
    for (const { agent, modelUsage } of this.#untold.values()) {
      // One that is still there counts by its own digest.
      if (isWithin(agent, owner) && !this.#agents().includes(agent)) add(modelUsage)
    }
    for (const { agent, amount, isSpent } of this.#reserved.values()) {
      if (isSpent !== true || !isWithin(agent, owner)) continue
      tokens += amount.tokens
      usd += amount.usd
    }
    return { tokens, usd }
  }

  #reservedBy(owner: Agent): Amount {
    let tokens = 0
    let usd = 0
    for (const { agent, amount, isSpent } of this.#reserved.values()) {
      if (isSpent === true || !isWithin(agent, owner)) continue
      tokens += amount.tokens
      usd += amount.usd
    }
    return { tokens, usd }
  }

  #tellUnpriced(model: string): void {
    if (this.#core.limits.usd === undefined || this.#unpriced.has(model)) return
    this.#unpriced.add(model)
    this.#core.diagnose(
      'price-unknown',
      `the price of the model ${model} is not known: the limit of money does not count its requests. Give it with the option modelFacts.`,
    )
  }
}

/** One request of an agent is in flight at a time; beside it, one to the classifier for each thing that is judged. */
const holdName = (agentId: AgentId, about: string | undefined): string =>
  about === undefined ? agentId : `${agentId} ${about}`

/** An agent and those above it, upwards. */
function* lineOf(agent: Agent): Generator<Agent> {
  for (let one: Agent | undefined = agent; one !== undefined; one = one.parent) yield one
}

function isWithin(agent: Agent, owner: Agent): boolean {
  for (const one of lineOf(agent)) if (one.id === owner.id) return true
  return false
}

/** Tells the owner of a budget that it is nearly spent, once in a run. */
function warn(standing: OwnedStanding): void {
  const { owner } = standing
  for (const { limit, of, used } of nearlySpent(standing)) {
    if (!owner.isRunning || owner.bounds.hasBeenWarned(limit)) continue
    owner.bounds.warn({ type: 'budget.warned', limit, of, used })
  }
}
