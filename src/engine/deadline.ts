/**
 * The running time of one agent's run: a timer that asks for the end when it is used up.
 *
 *   T1  What counts is the time that the run, or one above it that is on, has been running. Time that it was switched
 *       off does not count: the clock is the log's (`run-clock.ts`).
 *   T2  It only asks. The machine ends the run at its next safe point: calls that run are waited for, no other begins.
 *   T3  A request of which nothing has come yet is given up; a reply that is being written is waited for.
 */
import { WARN_AT } from '../definitions/budget.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'

export class Deadline {
  readonly #core: EngineCore
  readonly #agent: Agent
  #cancel: (() => void) | undefined
  readonly #listeners = new Set<() => void>()

  constructor(core: EngineCore, agent: Agent) {
    this.#core = core
    this.#agent = agent
  }

  /** Watches the run that is on from now. Does nothing without a limit. */
  begin(): void {
    this.end()
    const { runningMs } = this.#core.limits
    if (runningMs !== undefined && !this.#isUp) this.#watch(runningMs)
  }

  /** The run is over, or switched off. */
  end(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#listeners.clear()
  }

  /** Calls back once when the time is up; at once when it is. The result forgets it. */
  onExpiry(listener: () => void): () => void {
    if (this.#isUp) listener()
    else this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get #isUp(): boolean {
    return this.#agent.run?.snapshot.context.isOutOfTime === true
  }

  #watch(limit: number): void {
    const used = usedMs(this.#agent)
    const soft = limit * WARN_AT
    const isOwn = ownerOf(this.#agent) === this.#agent
    const next = isOwn && used < soft ? soft : limit
    this.#cancel = this.#core.clock.setTimer(Math.max(0, next - used), () => {
      if (!this.#agent.isRunning) return
      const now = usedMs(this.#agent)
      if (now >= limit) return this.#expire(limit)
      if (isOwn && now >= soft && !this.#agent.bounds.hasBeenWarned('time'))
        this.#agent.bounds.warn({ type: 'budget.warned', limit: 'time', of: limit, used: Math.round(now) })
      this.#watch(limit)
    })
  }

  #expire(of: number): void {
    const agent = this.#agent
    agent
      .post({ type: 'time.expired', of })
      .then(() => {
        for (const listener of [...this.#listeners]) listener()
        this.#listeners.clear()
        this.#refuseApprovals()
      })
      // The log is gone: its agent has been halted with a better error.
      .catch(() => {})
  }

  /** Nobody needs to answer for a call that is not begun any more. */
  #refuseApprovals(): void {
    for (const { agentId, approvalId } of this.#core.approvals.requests)
      if (agentId === this.#agent.id) refuseForTime(this.#core, approvalId)
  }
}

/** Says no to a call that waits for somebody's word while the time of its run is up. */
export function refuseForTime({ approvals }: EngineCore, approvalId: string): void {
  try {
    approvals.answer(
      approvalId,
      { decision: 'deny', message: 'The running time of this run is used up.' },
      'engine',
    )
  } catch {
    // Somebody was faster.
  }
}

/** Milliseconds that count for an agent: of its own run, or of one above it that is on and began earlier. */
export function usedMs(agent: Agent): number {
  return Math.max(agent.elapsedMs, ownerOf(agent).elapsedMs)
}

/** Whose running time it is: the topmost of the agents above that run without a gap, or the agent itself. */
function ownerOf(agent: Agent): Agent {
  let owner = agent
  while (owner.parent?.isRunning === true) owner = owner.parent
  return owner
}
