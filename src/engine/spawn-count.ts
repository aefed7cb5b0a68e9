/**
 * The children that a session ever had, and those that are still to come: what limits of spawns and of live agents count.
 */
import type { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'

export class SpawnCount {
  #count = 0
  /** Children that logs name and that are not there yet, by whose call makes them. */
  readonly #expected = new Map<AgentId, Agent>()

  /** All of them, with those that are expected. */
  get count(): number {
    return this.#count
  }

  /** Those that take a place among live agents without being there: whose parents still run. */
  get expected(): number {
    return [...this.#expected.values()].filter(({ isRunning }) => isRunning).length
  }

  /** Counts the children that the session had before this process. */
  add(children: number): void {
    this.#count += children
  }

  /**
   * A child that its parent's log names and that is not there yet. It is counted, whatever its parent's other calls
   * start before its own call makes it.
   */
  expect(parent: Agent, childId: AgentId): void {
    this.#count += 1
    this.#expected.set(childId, parent)
  }

  /** A child is there now, or about to be: one that was expected is counted already. */
  take(childId: AgentId): void {
    if (!this.#expected.delete(childId)) this.#count += 1
  }
}
