/**
 * `agent-<id>.meta.json` beside a child's log: what viewers show about an agent without reading it. Derived from its
 * first event; readers take a missing one for absent, so it may be written at any time after that.
 */
import type { AgentEventOf } from '../machines/agent/events.ts'
import type { SessionPaths } from './paths.ts'
import type { Storage } from './storage.ts'

/** The content of the file, under the names that readers of transcripts know. */
export interface AgentMeta {
  readonly agentType: string
  readonly description: string
  /** The call in the parent's log that started it. */
  readonly toolUseId?: string
  /** Only for a child of a child: the root has no file of that name. */
  readonly parentAgentId?: string
  readonly spawnDepth: number
  readonly model: string
}

/** What an agent's first event says about it. */
export function agentMetaOf({ parent, plan, depth }: AgentEventOf<'agent.spawned'>): AgentMeta {
  return {
    agentType: plan.agentType,
    description: plan.description,
    ...(parent !== undefined && { toolUseId: parent.toolUseId }),
    ...(parent !== undefined && depth > 1 && { parentAgentId: parent.agentId }),
    spawnDepth: depth,
    model: plan.model.value,
  }
}

/** Writes the file of a child. Throws a `StorageError`. */
export function writeAgentMeta(
  storage: Storage,
  paths: Pick<SessionPaths, 'agentMeta'>,
  spawned: AgentEventOf<'agent.spawned'>,
): void {
  storage.writeDerived(paths.agentMeta(spawned.agentId), JSON.stringify(agentMetaOf(spawned)))
}
