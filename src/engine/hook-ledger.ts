/** Hooks that were started in a run, and what came of them. */
import type { AgentEventOf } from '../machines/agent/events.ts'

/** A hook that was started, and what came of it, where that is known. */
export interface RecordedHook {
  readonly hook: string
  readonly place: number
  readonly label: string
  readonly outcome?: AgentEventOf<'hook.ended'>['outcome'] | undefined
  readonly process?: AgentEventOf<'hook.process_started'> | undefined
}

/** A fold of the events about hooks. */
export class HookLedger {
  readonly #byMoment = new Map<string, readonly RecordedHook[]>()
  #count = 0

  /** As {@link HookLedger.value} and {@link HookLedger.count} gave it. */
  static from(value: Readonly<Record<string, readonly RecordedHook[]>>, count: number): HookLedger {
    const ledger = new HookLedger()
    for (const [moment, hooks] of Object.entries(value)) ledger.#byMoment.set(moment, hooks)
    ledger.#count = count
    return ledger
  }

  push(event: AgentEventOf<'hook.started' | 'hook.process_started' | 'hook.ended'>): void {
    if (event.type === 'hook.started') {
      const { hook, place, label, moment } = event
      this.#byMoment.set(moment, [...(this.#byMoment.get(moment) ?? []), { hook, place, label }])
      // A name is taken before its hook is recorded, and a kill can come in between: names may skip numbers.
      this.#count = Math.max(this.#count + 1, numberIn(hook))
      return
    }
    const change = event.type === 'hook.ended' ? { outcome: event.outcome } : { process: event }
    for (const [moment, hooks] of this.#byMoment) {
      if (!hooks.some(({ hook }) => hook === event.hook)) continue
      this.#byMoment.set(
        moment,
        hooks.map((known) => (known.hook === event.hook ? { ...known, ...change } : known)),
      )
    }
  }

  /** A run begins: hooks of the last one are of no use any more. */
  beginRun(): void {
    this.#byMoment.clear()
  }

  /** A call has its result: nobody asks for its hooks again. */
  forgetCall(callId: string): void {
    for (const moment of this.#byMoment.keys()) {
      if (moment.endsWith(` ${callId}`)) this.#byMoment.delete(moment)
    }
  }

  get byMoment(): ReadonlyMap<string, readonly RecordedHook[]> {
    return this.#byMoment
  }

  /** At least as many as were ever started, and no smaller than the number in any name. */
  get count(): number {
    return this.#count
  }

  /** By their moment, as JSON can hold it. */
  value(): Record<string, RecordedHook[]> {
    return Object.fromEntries([...this.#byMoment].map(([moment, hooks]) => [moment, [...hooks]]))
  }
}

/** The number in a name that an agent has given; 0 in any other. */
const numberIn = (hook: string): number => Number(/^hook:(\d+)/.exec(hook)?.[1] ?? 0)
