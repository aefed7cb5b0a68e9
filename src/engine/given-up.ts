/**
 * Agents that go on no more and have no end, as their logs cannot be written.
 *
 *   P1  Such an agent keeps its place in the session until its effects have really ended, what it had started in the
 *       background is gone too, and no process of it runs: limits count it until then, and a close waits for that.
 *   P2  Whoever is owed its end is told that it is lost when its place is free, and not before.
 *   P3  An agent above does not come to its own end before: nothing below it is left behind (law 9).
 */
import type { Agent } from './agent.ts'
import type { Session } from './session.ts'

export class GivenUp {
  readonly #session: Session
  readonly #leaving = new Map<Agent, Promise<void>>()

  constructor(session: Session) {
    this.#session = session
  }

  /** Sees an agent out that has been halted. `why`: what whoever is owed its end is told. */
  seeOut(agent: Agent, why: string): void {
    const leaving = this.#seeOut(agent, why).finally(() => this.#leaving.delete(agent))
    this.#leaving.set(agent, leaving)
    this.#session.closeAfter(leaving)
  }

  /** Resolves when that agent has given its place back; at once when it is not on the way out. */
  async left(agent: Agent): Promise<void> {
    await this.#leaving.get(agent)
  }

  /** Resolves when nobody below that agent is on the way out. */
  async below(agent: Agent): Promise<void> {
    while (true) {
      const leaving = [...this.#leaving].filter(([{ parent }]) => isWithin(parent, agent))
      if (leaving.length === 0) return
      await Promise.all(leaving.map(([, left]) => left))
    }
  }

  async #seeOut(agent: Agent, why: string): Promise<void> {
    const session = this.#session
    const key = { agentId: agent.id, run: agent.runNumber }
    // A kill of one that has been halted itself rejects: it is on its way out.
    const kills = agent.digest.owed.map(({ agentId }) =>
      session.live(agentId)?.kill('engine', 'its parent was stopped: its log cannot be written'),
    )
    // Children that it waited for end with its calls.
    await Promise.allSettled([agent.scope.settled(), ...kills])
    await this.below(agent)
    // Whoever fails to end something of it must not keep it here.
    await Promise.allSettled([agent.equipment.close()])
    session.budget.keep(agent, key.run, agent.modelUsage)
    // The line that was to name it could not be written.
    for (const { id, parent, runNumber } of session.agents)
      if (parent === agent && runNumber === 0) session.forget(id)
    if (session.isLive(agent)) session.forget(agent.id)
    const owner = session.hosts.ownerOf(agent, key.run)
    if (owner === undefined) return
    session.ends.lose(key, why, agent.modelUsage)
    session.noteNews(owner)
  }
}

function isWithin(agent: Agent | undefined, upper: Agent): boolean {
  for (let one = agent; one !== undefined; one = one.parent) if (one.id === upper.id) return true
  return false
}
