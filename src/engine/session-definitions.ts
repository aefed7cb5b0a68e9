/**
 * The definitions that a session's agents were started with: each stored once, as a blob, and given back to agents
 * that are read from their logs.
 *
 *   F1  What an agent was started with holds for it to its end, whatever becomes of the file it came from.
 *   F2  A definition that has changed since, or is gone, is told when its agent is resumed.
 */
import type { AgentDefinition } from '../definitions/agent-definition.ts'
import { FORK } from '../definitions/built-in/fork.ts'
import { WORKER } from '../definitions/built-in/worker.ts'
import { recordDefinition, restoreDefinition } from '../definitions/recorded-definition.ts'
import type { BlobStore } from '../journal/blob-store.ts'
import type { MaybePromise } from '../journal/storage.ts'
import { StorageError } from '../journal/storage.ts'
import type { SpawnPlan } from '../machines/agent/events.ts'
import type { BlobHash } from '../machines/ids.ts'
import { messageOf } from './errors.ts'

export class SessionDefinitions {
  readonly #blobs: BlobStore
  readonly #cwd: string
  /** The definitions of this moment. */
  readonly #current: () => readonly AgentDefinition[]
  readonly #byHash = new Map<BlobHash, AgentDefinition>()
  readonly #hashes = new WeakMap<AgentDefinition, BlobHash>()

  constructor(blobs: BlobStore, cwd: string, current: () => readonly AgentDefinition[]) {
    this.#blobs = blobs
    this.#cwd = cwd
    this.#current = current
  }

  /** Stores the definition that is active under this name; its hash, durable. Undefined when there is none. */
  record(agentType: string): MaybePromise<BlobHash | undefined> {
    const definition = this.named(agentType)
    if (definition === undefined) return undefined
    const known = this.#hashes.get(definition)
    if (known !== undefined) return known
    const stored = this.#blobs.put(recordDefinition(definition, { cwd: this.#cwd }))
    const remember = (hash: BlobHash): BlobHash => {
      this.#hashes.set(definition, hash)
      this.#byHash.set(hash, definition)
      return hash
    }
    return stored instanceof Promise ? stored.then(remember) : remember(stored)
  }

  /** What an agent was started with. In logs that do not say, what its name means now. */
  of(plan: SpawnPlan): AgentDefinition | undefined {
    return plan.definition === undefined ? this.named(plan.agentType) : this.#byHash.get(plan.definition)
  }

  /** Reads the definition of an agent that comes from its log. Returns in what it is not the one of now, in words. */
  async recall({ agentType, definition: hash }: SpawnPlan): Promise<readonly string[]> {
    if (hash === undefined) return []
    const current = this.named(agentType)
    const isSame = current !== undefined && (await this.record(agentType)) === hash
    if (isSame) return []
    try {
      this.#byHash.set(hash, restoreDefinition(await this.#blobs.get(hash)))
    } catch (error) {
      if (StorageError.is(error) && error.code !== 'not-found' && error.code !== 'damaged') throw error
      if (current === undefined) return [`the definition of ${agentType} is lost (${messageOf(error)})`]
      this.#byHash.set(hash, current)
      return [`the definition of ${agentType} is lost (${messageOf(error)}); the one of now takes its place`]
    }
    return [
      current === undefined
        ? `the agent type ${agentType} does not exist any more; the agent goes on as it was started`
        : `the definition of ${agentType} has changed; the agent goes on as it was started`,
    ]
  }

  /** The definition that is active under this name now. */
  named(agentType: string): AgentDefinition | undefined {
    const isMeant = (definition: AgentDefinition): boolean => definition.agentType === agentType
    return this.#current().find(isMeant) ?? OF_ROUTING.find(isMeant)
  }
}

/** What only a decision about a spawn can choose. */
const OF_ROUTING: readonly AgentDefinition[] = [FORK, WORKER]
