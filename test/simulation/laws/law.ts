/** What a law is to the simulation: something that watches a session and says when it is broken. */
import type { Agent } from '../../../src/engine/agent.ts'
import type { EngineEvent } from '../../../src/engine/api.ts'
import type { AgentEvent, EventDraft, Recorded } from '../../../src/machines/agent/events.ts'
import type { AgentState } from '../../../src/machines/agent/fold.ts'
import type { Disk } from '../disk.ts'
import type { SimulatedHooks } from '../hooks.ts'
import type { SeenRequest, SimulatedModel } from '../model.ts'
import type { Move } from '../moves.ts'
import type { Plan } from '../plan.ts'
import type { SimulatedProcesses } from '../processes.ts'
import type { ShadowLog } from '../shadow-logs.ts'
import type { Body, SimulatedTools } from '../tools.ts'
import type { SimulatedWorktrees } from '../worktrees.ts'
import type { Life, World } from '../world.ts'

export type Fact = Extract<EngineEvent, { kind: 'fact' }>

/** Everything of a session that a law may look at. Nothing of it is told by the engine's own bookkeeping. */
export interface Scene {
  readonly plan: Plan
  readonly world: World
  readonly disk: Disk
  readonly tools: SimulatedTools
  readonly hooks: SimulatedHooks
  readonly processes: SimulatedProcesses
  readonly model: SimulatedModel
  readonly worktrees: SimulatedWorktrees
  /** Path of the lock under which a file of a session is written. */
  lockOf(path: string): string
  /** What the user has moved to the background. */
  readonly moves: readonly Move[]
  /** Somebody closes the engine of the process that runs now. */
  readonly isClosing: boolean
  /** The log that has a spoiled line; undefined before that. */
  readonly damaged: string | undefined
  /** The live agent, as the process that runs now has it. */
  live(agentId: string): Agent | undefined
}

/** What happens, as a law gets to know it. All are called synchronously, at the moment it happens. */
export interface Monitor {
  /** A line is durable; `before` is the state of its agent without it. */
  onDurable?(log: ShadowLog, recorded: Recorded, before: AgentState): void
  /** The engine says that it happened. */
  onFact?(fact: Fact): void
  onApplied?(agent: Agent, recorded: Recorded): void
  onRestored?(agent: Agent): void
  onLate?(agent: Agent, draft: EventDraft): void
  /** Everything else that the engine says. */
  onNotice?(event: Exclude<EngineEvent, Fact>): void
  onRequest?(seen: SeenRequest): void
  onBody?(body: Body): void
  onWrite?(life: Life, path: string): void
  /** The disk is as the crash has left it. */
  onCrash?(life: Life): void
  /** The engine of this process has been closed, in peace. */
  onClosed?(life: Life): void
  /** A second process was let in, although the first holds the session. */
  onIntrusion?(outcome: string): void
  /** The user has asked for the session again. `error`: why it was refused. */
  onResume?(resume: { readonly acceptDamage: boolean; readonly error: unknown }): void
  /** Something failed that nobody waited for. */
  onUnhandled?(error: unknown): void
  /** After each step. */
  onStep?(): void
  /** The session is over, and so is the last process. */
  onEnd?(): void
}

export interface Law {
  readonly number: number
  readonly name: string
  readonly text: string
  /**
   * Whether it holds although lines of a log are lost, as somebody has accepted that. The others speak of what those
   * lines said.
   */
  readonly holdsOverDamage?: boolean
  /** Watches one session. */
  watch(scene: Scene, broken: (what: string) => void): Monitor
}

/** The name and call of an event, for messages. */
export function nameOf(event: AgentEvent): string {
  return 'callId' in event ? `${event.type} ${String(event.callId)}` : event.type
}
