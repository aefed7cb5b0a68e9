/** What one agent may have to be told, who waits for that, and which of its calls tells it. */
import type { AgentEvent, RunKey } from '../machines/agent/events.ts'
import { runName } from '../machines/agent/run-key.ts'
import type { CallId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import { Occasion } from './occasion.ts'

export class AgentNews {
  readonly #agent: Agent
  readonly #news = new Occasion()
  readonly #leftForeground = new Occasion()
  /** Which call tells an end, by the name of the run. */
  readonly #claims = new Map<string, CallId>()

  constructor(agent: Agent) {
    this.#agent = agent
  }

  /** Resolves with the next thing that it may have to be told. */
  next(): Promise<void> {
    return this.#news.next()
  }

  /** There may be something to tell it. */
  note(): void {
    this.#news.happens()
  }

  /** Resolves when its run is in the background, at once when it is there already. */
  leftForeground(): Promise<void> {
    return this.#agent.isInBackground ? Promise.resolve() : this.#leftForeground.next()
  }

  /**
   * Whether this call is the one that tells an end that the agent is owed: of several that read it at the same time
   * the first one is.
   */
  claimsEnd(end: RunKey, callId: CallId): boolean {
    const name = runName(end)
    const holder = this.#claims.get(name)
    const isHeld = this.#agent.run?.snapshot.context.calls.some((call) => call.callId === holder) === true
    if (isHeld && holder !== callId) return false
    this.#claims.set(name, callId)
    return true
  }

  /** The event has happened. */
  follow(event: AgentEvent): void {
    const { session } = this.#agent
    switch (event.type) {
      case 'message.accepted':
      case 'child.launched':
        this.note()
        return
      case 'message.added':
      case 'run.started':
        for (const key of event.tells ?? []) session.forgetEnd(key)
        return
      case 'call.ended':
        if (event.delivered === undefined) return
        this.#claims.delete(runName(event.delivered))
        session.forgetEnd(event.delivered)
        return
      case 'child.released':
        if (event.isUndeliverable === true) session.forgetEnd(event.child)
        return
      case 'agent.backgrounded':
        this.#leftForeground.happens()
        return
      default:
    }
  }
}
