/**
 * A run's live XState actor, one step ahead of itself.
 *
 * The mailbox must know what an event leads to before it writes it, and the actor must see it only afterwards.
 * Doing the transition twice would double the most expensive part of an event, so a step is computed once, on
 * the actor's own scope, with its actions collected instead of executed; sending the event then takes the
 * computed step and executes them.
 *
 *   A1  Between `stage` and `apply` nothing is started, stopped or assigned: a step that is never applied has
 *       never happened.
 *   A2  Steps are applied in the order in which they were staged, each by its own event object.
 *   A3  The actor answers nobody: it has no parent, and its effects report through the mailbox.
 *   A4  Events that come before the start are put off until then, behind the effects of the state that it starts in. What
 *       they lead to shows at once all the same: the log has them.
 *   A5  Inspectors are told what happens, when it happens: what XState says of an actor that is not started, or of
 *       a step that is only staged, waits until it is.
 */
import type { ActorScope, InspectionEvent, Snapshot } from 'xstate'
import { createActor } from 'xstate'
import type { RunInput } from '../machines/agent/context.ts'
import type { RunEvent } from '../machines/agent/events.ts'
import type { RunSnapshot } from '../machines/agent/fold.ts'
import type { agentMachine } from '../machines/agent/machine.ts'

/** The agent machine with its effects provided. */
export type RunMachine = typeof agentMachine

type Scope = ActorScope<RunSnapshot, RunEvent>
type Action = Parameters<Scope['actionExecutor']>[0]

interface Step {
  readonly event: RunEvent
  readonly before: RunSnapshot
  readonly after: RunSnapshot
  readonly actions: readonly Action[]
  readonly inspected: readonly InspectionEvent[]
}

type Inspect = (event: InspectionEvent) => void

export class RunActor {
  readonly #machine: RunMachine
  readonly #actor: ReturnType<typeof createRunActor>
  readonly #steps: Step[] = []
  readonly #inspect: Inspect | undefined
  #scope: Scope | undefined
  /** Where inspection events go while they wait; undefined when they go out at once. */
  #held: InspectionEvent[] | undefined = []
  /** What the events lead to that wait for the start. */
  #putOff: RunSnapshot | undefined
  #isStarted = false

  private constructor(
    machine: RunMachine,
    options: Omit<Parameters<typeof createRunActor>[1], 'inspect'>,
    onError: (error: unknown) => void,
    inspect: Inspect | undefined,
  ) {
    this.#machine = machine
    this.#inspect = inspect
    this.#actor = createRunActor(this.#logic(), {
      ...options,
      ...(inspect && { inspect: (event) => void (this.#held?.push(event) ?? inspect(event)) }),
    })
    this.#actor.subscribe({ error: onError })
  }

  /** An actor before the first event of its run. */
  static begin(
    machine: RunMachine,
    input: RunInput,
    onError: (error: unknown) => void,
    inspect?: Inspect,
  ): RunActor {
    return new RunActor(machine, { input }, onError, inspect)
  }

  /** An actor in the state that a log was folded to. Starting it starts the effects of that state again. */
  static restore(
    machine: RunMachine,
    folded: RunSnapshot,
    onError: (error: unknown) => void,
    inspect?: Inspect,
  ): RunActor {
    const { agentId, run } = folded.context
    const snapshot = machine.getPersistedSnapshot(folded)
    return new RunActor(machine, { input: { agentId, run }, snapshot }, onError, inspect)
  }

  /** What the actor is now. */
  get snapshot(): RunSnapshot {
    return this.#putOff ?? this.#actor.getSnapshot()
  }

  /** What it will be when all staged events are applied. */
  get stagedSnapshot(): RunSnapshot {
    return this.#steps.at(-1)?.after ?? this.snapshot
  }

  /** The actor's id in XState's eyes: new in every process, for inspectors only. */
  get inspectionId(): string {
    return this.#actor.sessionId
  }

  get ref(): object {
    return this.#actor
  }

  start(): void {
    this.announce()
    this.#isStarted = true
    this.#actor.start()
    this.#putOff = undefined
  }

  /** Tells inspectors that the actor is there, if they do not know yet. Starting it does so, too. */
  announce(): void {
    const held = this.#held ?? []
    this.#held = undefined
    this.#tell(held)
  }

  /** Computes the next step. Throws what a guard or an assign throws; nothing has happened then. */
  stage(event: RunEvent): void {
    const actions: Action[] = []
    const scope = this.#scope
    if (scope === undefined) throw new Error('the actor of a run was used before it was made')
    const before = this.stagedSnapshot
    const outer = this.#held
    const inspected: InspectionEvent[] = []
    this.#held = inspected
    try {
      const after = this.#machine.transition(before, event, {
        ...scope,
        actionExecutor: (action: Action) => actions.push(action),
      }) as RunSnapshot
      this.#steps.push({ event, before, after, actions, inspected })
    } finally {
      this.#held = outer
    }
  }

  /** Forgets the staged steps. */
  unstage(): void {
    this.#steps.length = 0
  }

  /** Sends the event whose step was staged first. */
  apply(event: RunEvent): void {
    if (!this.#isStarted) this.#putOff = this.#steps.find((step) => step.event === event)?.after
    this.#actor.send(event)
  }

  /** Stops the actor and aborts its effects. */
  stop(): void {
    this.#actor.stop()
  }

  #tell(events: readonly InspectionEvent[]): void {
    for (const event of events) this.#inspect?.(event)
  }

  /** The machine as actor logic, except that a staged step is taken instead of computed again. */
  #logic(): RunMachine {
    const machine = this.#machine
    const keepScope = (scope: Scope) => {
      this.#scope ??= scope
    }
    // Inspectors read `logic.config` and the like: everything but these methods is the machine's own.
    return Object.assign(Object.create(machine) as RunMachine, {
      getInitialSnapshot: (scope: Scope, input: RunInput) => {
        keepScope(scope)
        return machine.getInitialSnapshot(scope, input)
      },
      restoreSnapshot: (snapshot: Snapshot<unknown>, scope: Scope) => {
        keepScope(scope)
        return machine.restoreSnapshot(snapshot, scope)
      },
      transition: (snapshot: RunSnapshot, event: RunEvent, scope: Scope) => {
        const step = this.#steps[0]
        if (step === undefined || step.event !== event || step.before !== snapshot) {
          return machine.transition(snapshot, event, scope)
        }
        this.#steps.shift()
        this.#tell(step.inspected)
        for (const action of step.actions) scope.actionExecutor(action)
        return step.after
      },
    })
  }
}

function createRunActor(
  logic: RunMachine,
  options: {
    readonly input: RunInput
    readonly snapshot?: Snapshot<unknown>
    readonly inspect?: Inspect
  },
) {
  return createActor(logic, options)
}
