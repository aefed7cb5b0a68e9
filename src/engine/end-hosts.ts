/**
 * Who is told the end of a run in the background: somebody whose log says that it is owed, always.
 *
 *   H1  Before a run begins, and before one who is owed its end lets go of that, it is in another log above.
 *   H2  While two are owed an end, the lower one tells it: it is in the course of giving it away.
 *   H3  Whoever has taken an end over says from whom: if that one's log could not say so, it is told that when it is read
 *       back, however long ago the end was told above.
 */
import type { RunKey } from '../machines/agent/events.ts'
import { isAmong } from '../machines/agent/run-key.ts'
import type { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import { Suspended } from './effects/suspended.ts'

/** The session, as far as this is about it. */
interface Tree {
  readonly root: Agent
  readonly agents: readonly Agent[]
  live(id: AgentId): Agent | undefined
}

export class EndHosts {
  readonly #tree: Tree

  constructor(tree: Tree) {
    this.#tree = tree
  }

  /**
   * Sees to it that somebody above is owed the end of a run: the nearest who can still be told, else the root. Resolves
   * with whom, when it is in that log. Rejects with `Suspended` when nobody's takes it any more. `from`: who was owed it
   * so far, or the agent itself whose run is about to begin.
   */
  async entrust(from: Agent, child: RunKey): Promise<Agent> {
    const takenFrom = from.id === child.agentId ? undefined : from.id
    for (let host = this.hostOf(from); ; host = this.hostOf(host)) {
      if (isAmong(host.digest.owed, child)) return host
      // A log that cannot be written has stopped its agent: then somebody above is told.
      if ((await host.takeChild(child, takenFrom).catch(() => 'late')) === 'taken') return host
      if (host.parent === undefined) throw new Suspended(`nobody can be told the end of ${child.agentId}`)
    }
  }

  /** Who is owed the end of a run: the nearest of its ancestors whose log says so. */
  ownerOf({ id, parent }: Pick<Agent, 'id' | 'parent'>, run: number): Agent | undefined {
    for (let ancestor = parent; ancestor !== undefined; ancestor = ancestor.parent) {
      if (isAmong(ancestor.digest.owed, { agentId: id, run })) return ancestor
    }
    return undefined
  }

  /**
   * Whether somebody further down is owed that end, too: who is in the course of giving it away. Before that is done
   * nobody else tells it, or a crash in between would have it told twice.
   */
  isHeldBelow({ birth }: Agent, end: RunKey): boolean {
    for (const other of this.#tree.agents) {
      if (other.isBorn && other.birth.depth > birth.depth && isAmong(other.digest.owed, end)) return true
    }
    return false
  }

  /** Who can be told of an agent that runs in the background: the nearest of its ancestors that runs, else the root. */
  hostOf({ parent }: Agent): Agent {
    for (let ancestor = parent; ancestor?.parent !== undefined; ancestor = ancestor.parent) {
      if (this.#tree.live(ancestor.id) === ancestor && ancestor.isRunning && ancestor.isOpen) return ancestor
    }
    return this.#tree.root
  }

  /** Whether it is in no call's hands: one that is, is brought on by it, or to its end. */
  isOnItsOwn(agent: Agent): boolean {
    if (!agent.isInBackground) return false
    const owner = this.ownerOf(agent, agent.runNumber)
    return (
      owner !== undefined && !owner.ledger.open.some(({ started }) => started.child?.agentId === agent.id)
    )
  }
}
