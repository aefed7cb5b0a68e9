/**
 * What bounds a run and is to be begun, given back and ended with it: its running time, what is set aside for it in
 * budgets and who was warned of them, and the lines about its progress.
 */

import { isBeforeSettling } from '../machines/agent/accepts.ts'
import type { AgentEvent, AgentEventOf } from '../machines/agent/events.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import { Deadline } from './deadline.ts'
import { ProgressSummaries } from './progress-summaries.ts'
import { REVIEW } from './review/classify.ts'

/** With these a request is over, and its cost is known. */
const ENDS_OF_REQUESTS: ReadonlySet<AgentEvent['type']> = new Set([
  'reply.received',
  'request.failed',
  'conversation.compacted',
  'compaction.failed',
] as const)

export class RunBounds {
  readonly #agent: Agent
  /** Of its running time; undefined where that is not limited. */
  readonly deadline: Deadline | undefined
  /** Lines about what it is at; undefined for the root, and where nobody wants them. */
  readonly summaries: ProgressSummaries | undefined
  /** Budgets whose warning is on its way to the log. */
  #warning: readonly string[] = []

  constructor(core: EngineCore, agent: Agent) {
    this.#agent = agent
    this.deadline = core.limits.runningMs === undefined ? undefined : new Deadline(core, agent)
    this.summaries =
      agent.parent !== undefined && core.features.progressSummaries
        ? new ProgressSummaries(core, agent)
        : undefined
  }

  /** Whether its log says that a budget is nearly spent, or is about to. */
  hasBeenWarned(limit: string): boolean {
    return this.#warning.includes(limit) || this.#agent.digest.warned.includes(limit)
  }

  /** Says that a budget of its is nearly spent. Nobody waits for it. */
  warn(event: AgentEventOf<'budget.warned'>): void {
    this.#warning = [...this.#warning, event.limit]
    // A rejected post means that the log is gone: the agent has been halted with a better error.
    this.#agent.post(event).catch(() => {})
  }

  /** Its digest has what the event cost, and what follows has not begun. */
  settle({ type }: AgentEvent): void {
    const { id, runNumber: run, modelUsage, session } = this.#agent
    if (ENDS_OF_REQUESTS.has(type)) session.budget.release(id)
    if (type === 'review.ended') session.budget.keepAgain({ agentId: id, run }, modelUsage)
    if (type === 'review.ended' || type === 'agent.ended') session.budget.release(id, REVIEW)
  }

  /** The event has happened. */
  follow({ type }: AgentEvent): void {
    const { id, run, phase$, session } = this.#agent
    if (type === 'run.started') {
      this.#warning = []
      this.deadline?.begin()
    } else if (type === 'agent.ended') this.deadline?.end()
    if (run !== undefined && !isBeforeSettling(run.snapshot)) this.summaries?.end()
    // A request that was given up holds nothing any more.
    const isAsking = phase$.value === 'requesting' || phase$.value === 'compacting'
    if (session.budget.holds(id) && !isAsking) session.budget.release(id)
  }

  /** Nothing of the run goes on here: it is switched off, or its log is gone. */
  end(): void {
    this.deadline?.end()
    this.summaries?.end()
  }

  /** What is set aside for it is free again. */
  release(): void {
    const { id, session } = this.#agent
    session.budget.release(id)
    session.budget.release(id, REVIEW)
  }
}
