/**
 * What the world outside remembers of a session: every request that reached the model, every body that began and what
 * it did, every result that the user saw. It belongs to no process, and no crash takes anything out of it.
 */
export type Entry =
  | {
      readonly kind: 'request'
      readonly life: number
      readonly who: string
      readonly turn: number
      /** Rules of the API that it breaks. */
      readonly violations: readonly string[]
    }
  | BodyEntry
  | HookEntry
  | { readonly kind: 'result'; readonly life: number; readonly status: string; readonly text: string }

export interface BodyEntry {
  /** `begun`: the body runs. `done`: it has changed the world, once. */
  readonly kind: 'begun' | 'done'
  readonly life: number
  readonly tool: string
  readonly id: string
  readonly key: string
  readonly isRepeat: boolean
}

/** A hook that ran, and for what. */
export interface HookEntry {
  readonly kind: 'hook'
  readonly life: number
  readonly event: string
  /** The agent; `root` is the main one. */
  readonly agentId: string
  /** Tells the event from others of its kind: a call, how often the agent was sent back. */
  readonly about: string
}

export interface Record {
  note(entry: Entry): void
  readonly entries: readonly Entry[]
}

/** A record in memory that goes on from what was before. */
export function createRecord(before: readonly Entry[] = []): Record {
  const entries = [...before]
  return { entries, note: (entry) => void entries.push(entry) }
}
