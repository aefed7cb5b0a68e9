/**
 * What the log says of the calls of one agent that have no result yet: whether and how each was started. An
 * effect is at-least-once; this is where it looks before it acts.
 */
import type { AgentEventOf, Recorded } from '../machines/agent/events.ts'
import type { CallId } from '../machines/ids.ts'

export interface StartedCall {
  readonly started: AgentEventOf<'call.started'>
  readonly processes: readonly AgentEventOf<'process.started'>[]
}

export class CallLedger {
  readonly #calls = new Map<CallId, StartedCall>()

  push({ event }: Pick<Recorded, 'event'>): void {
    switch (event.type) {
      case 'call.started':
        this.#calls.set(event.callId, { started: event, processes: [] })
        return
      case 'process.started': {
        const call = this.#calls.get(event.callId)
        if (call !== undefined) {
          this.#calls.set(event.callId, { ...call, processes: [...call.processes, event] })
        }
        return
      }
      case 'call.ended':
        this.#calls.delete(event.callId)
        return
      default:
    }
  }

  get(callId: CallId): StartedCall | undefined {
    return this.#calls.get(callId)
  }

  /** Started calls without a result, oldest first. */
  get open(): readonly StartedCall[] {
    return [...this.#calls.values()]
  }
}
