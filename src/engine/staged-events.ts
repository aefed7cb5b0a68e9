/**
 * Events that are on their way to the log: what each leads to is known, and nothing of it has happened.
 *
 *   E1  An event is judged by what everything staged before it leads to, not by what the agent is now.
 *   E2  Nothing is staged that the agent does not take, or that cannot be folded: a fault takes its place.
 */
import type { Encoded } from '../journal/encode.ts'
import { accepts } from '../machines/agent/accepts.ts'
import type { EventDraft, Recorded } from '../machines/agent/events.ts'
import type { RunSnapshot } from '../machines/agent/fold.ts'
import { isActive, isBetweenRuns } from '../machines/agent/fold.ts'
import { toFault } from './errors.ts'
import type { LogWriting } from './log-writing.ts'
import type { RunActor } from './run-actor.ts'

/** An event, and the actor of the run that is on, or was last, behind it. */
interface Step {
  readonly encoded: Encoded
  readonly actor: RunActor | undefined
}

/** What the agent is before anything that is staged. */
export interface Standing {
  readonly isBorn: boolean
  readonly actor: RunActor | undefined
}

export class StagedEvents {
  readonly #log: LogWriting
  readonly #now: () => Standing
  readonly #begin: (run: number) => RunActor
  readonly #steps: Step[] = []

  /** `begin`: makes the actor of a run before its first event. */
  constructor(log: LogWriting, now: () => Standing, begin: (run: number) => RunActor) {
    this.#log = log
    this.#now = now
    this.#begin = begin
  }

  get isEmpty(): boolean {
    return this.#steps.length === 0
  }

  get #actor(): RunActor | undefined {
    const last = this.#steps.at(-1)
    return last === undefined ? this.#now().actor : last.actor
  }

  /** The run that is on, or was last, when all of it has happened. */
  get run(): RunSnapshot | undefined {
    return this.#actor?.stagedSnapshot
  }

  /** Takes the next event, or says that it comes too late. Throws for a fault that cannot be folded itself. */
  stage(draft: EventDraft): Encoded | 'late' {
    const actor = this.#actor
    if (draft.type === 'agent.spawned') return this.#isBorn ? 'late' : this.#keep(draft, actor, undefined)
    if (!this.#isBorn) return 'late'
    if (draft.type === 'run.started') {
      if (isActive(actor?.stagedSnapshot)) return 'late'
      const next = this.#begin(draft.run)
      return this.#keep(draft, next, next)
    }
    if (isBetweenRuns(actor?.stagedSnapshot, draft)) return this.#keep(draft, actor, undefined)
    if (actor === undefined || !accepts(actor.stagedSnapshot, draft)) return 'late'
    try {
      return this.#keep(draft, actor, actor)
    } catch (error) {
      if (draft.type === 'agent.faulted') throw error
      return this.stage({ type: 'agent.faulted', fault: toFault(error, `${draft.type} could not be folded`) })
    }
  }

  get #isBorn(): boolean {
    const isStaged = this.#steps.some(({ encoded }) => encoded.recorded.event.type === 'agent.spawned')
    return isStaged || this.#now().isBorn
  }

  /** Encodes, stages the step where the event is the run's, and remembers both. */
  #keep(draft: EventDraft, actor: RunActor | undefined, stageOn: RunActor | undefined): Encoded {
    const encoded = this.#log.encode(draft, this.#steps.at(-1)?.encoded)
    const { event } = encoded.recorded
    if (event.type !== 'agent.spawned') stageOn?.stage(event)
    this.#steps.push({ encoded, actor })
    return encoded
  }

  /** Takes out the event that was staged first. Throws when it is another one. */
  next(recorded: Recorded): Step {
    const step = this.#steps.shift()
    if (step?.encoded.recorded !== recorded) throw new Error('an event was applied out of order')
    return step
  }

  /** None of it happens. */
  forget(): void {
    for (const { actor } of this.#steps) actor?.unstage()
    this.#steps.length = 0
  }
}
