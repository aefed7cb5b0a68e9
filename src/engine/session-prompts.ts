/** Prompts and tools that agents are asked with: rendered once per kind of agent, stored once per session. */
import type { BlobStore } from '../journal/blob-store.ts'
import type { BlobHash } from '../machines/ids.ts'
import type { Agent, Prepared } from './agent.ts'
import type { EngineCore } from './core.ts'
import { mayLeavePlan } from './questions.ts'
import { render } from './render.ts'

/** What a run is asked with, and the names of its blobs. */
export interface PreparedBlobs {
  readonly prepared: Prepared
  readonly system: BlobHash
  readonly tools: BlobHash
}

export class SessionPrompts {
  readonly #core: EngineCore
  readonly #blobs: BlobStore
  readonly #prepared = new Map<string, PreparedBlobs>()

  constructor(core: EngineCore, blobs: BlobStore) {
    this.#core = core
    this.#blobs = blobs
  }

  /**
   * Prompt and tools of an agent, rendered once per kind of agent and stored once per session. `memory`: the section
   * of its prompt that no other agent has.
   */
  async prepare(agent: Agent, memory?: string): Promise<PreparedBlobs> {
    const { plan, depth, inherits } = agent.birth
    if (inherits?.fork !== undefined) return this.#forkedPreparation(agent, inherits.fork)
    const key = JSON.stringify([
      plan.agentType,
      plan.definition,
      plan.model.value,
      agent.mode,
      agent.cwd,
      depth,
      // Of two planners the one whose parent planned, too, reads only.
      mayLeavePlan(this.#core, agent),
      memory,
      // Servers come and go: two agents of a kind may have different tools.
      agent.equipment.servers.table === this.#core.tools ? undefined : agent.equipment.pool.tools,
    ])
    const known = this.#prepared.get(key)
    if (known !== undefined) return known
    const prepared = render(this.#core, agent, memory)
    const toolsText = JSON.stringify(prepared.tools)
    const blobs: PreparedBlobs = {
      prepared,
      system: await this.#blobs.put(prepared.system),
      tools: await this.#blobs.put(toolsText),
    }
    this.#prepared.set(key, blobs)
    return blobs
  }

  /** A fork is asked with the very bytes of its parent's last request. */
  async #forkedPreparation(
    { parent }: Agent,
    { system, tools }: { readonly system: BlobHash; readonly tools: BlobHash },
  ): Promise<PreparedBlobs> {
    const parents = parent?.digest.prepared
    if (parent?.prepared !== undefined && parents?.system === system && parents.tools === tools)
      return { prepared: parent.prepared, system, tools }
    const key = `fork ${system} ${tools}`
    const known = this.#prepared.get(key)
    if (known !== undefined) return known
    const prepared = {
      system: await this.#blobs.get(system),
      tools: JSON.parse(await this.#blobs.get(tools)),
    }
    const blobs = { prepared, system, tools }
    this.#prepared.set(key, blobs)
    return blobs
  }
}
