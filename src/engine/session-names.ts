/**
 * The names of a session's agents.
 *
 *   N1  A name is in the log of the root before an agent with it is in any other: a restart finds who has it.
 *   N2  No two agents that live have the same. Who has ended gives it to the next who asks, and keeps its id.
 */
import type { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'

/** The session, as far as this is about it. */
interface Tree {
  readonly root: Agent
  live(id: AgentId): Agent | undefined
}

/** What came of asking for a name. */
export type Registration =
  | { readonly kind: 'registered' }
  /** By an agent that lives. */
  | { readonly kind: 'held'; readonly by: AgentId }
  | { readonly kind: 'late' }

export class SessionNames {
  readonly #tree: Tree
  /** Names on their way to the log. */
  readonly #claimed = new Map<string, AgentId>()

  constructor(tree: Tree) {
    this.#tree = tree
  }

  /** The agent that has a name, or had it last; undefined: nobody ever. */
  holderOf(name: string): AgentId | undefined {
    return this.#claimed.get(name) ?? this.#tree.root.digest.names.get(name)
  }

  /**
   * Gives an agent that is about to be spawned its name: when this resolves, it is somebody else's who lives, or stands
   * in the root's log. `late`: that takes nothing any more.
   */
  async register(name: string, agentId: AgentId): Promise<Registration> {
    const by = this.holderOf(name)
    if (by !== undefined && this.#lives(by)) return { kind: 'held', by }
    this.#claimed.set(name, agentId)
    try {
      const posted = await this.#tree.root.post({ type: 'name.registered', name, agentId })
      return { kind: posted === 'taken' ? 'registered' : 'late' }
    } catch {
      // Its log cannot be written: the root has stopped, and says so itself.
      return { kind: 'late' }
    } finally {
      this.#claimed.delete(name)
    }
  }

  /** Whether it runs, or is about to. */
  #lives(id: AgentId): boolean {
    const agent = this.#tree.live(id)
    return agent !== undefined && (agent.isRunning || agent.runNumber === 0)
  }
}
