/** What a worker is told, and what it says: the words between a test and the process that it kills. */
import type { ScriptedParts } from '../../../src/effects/model/scripted-reply.ts'
import type { Durability } from '../../../src/journal/storage.ts'
import type { KillPoint } from './kill-point.ts'

/**
 * Replies by prompt: the conversation that a prompt began gets its first, second, … reply. No prompt may be part of
 * another one.
 */
export type Play = Readonly<Record<string, readonly ScriptedParts[]>>

/** The whole life of a worker, as JSON in its first argument. */
export interface Orders {
  readonly home: string
  /** Working directory of the agents. */
  readonly project: string
  /** Folder of what the world remembers: requests, ledgers. Outside the project. */
  readonly world: string
  readonly session: string
  readonly durability: Durability
  readonly play: Play
  /** The key of `play` that the session begins with. */
  readonly prompt: string
  /** Milliseconds that a model takes for a reply. */
  readonly modelMs: number
  /** A file of the world without which the model does not answer. */
  readonly gate?: string
  /** Which start of this session it is, for the list of requests. */
  readonly life: number
  readonly killAt?: KillPoint
  readonly deny?: readonly string[]
  /** How deep agents may nest; default as the engine's. */
  readonly depth?: number
  readonly snapshotEvery?: number
  readonly acceptDamage?: boolean
  readonly takeOver?: boolean
}

/** The last line of a worker that was not killed. */
export type Report =
  | {
      readonly kind: 'result'
      readonly wasResumed: boolean
      readonly status: string
      readonly text: string
      readonly diagnostics: readonly string[]
    }
  /** There was nothing left to do. */
  | { readonly kind: 'over' }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }

/** Its first line: the engine is there, nothing of the session has been touched. */
export const READY = 'ready'
