/**
 * The conversation of one agent: what its own log has of it, behind what it shares with a base or begins with of its
 * parent's. Read from the logs when somebody wants it.
 */
import type { Conversation } from '../journal/projections/conversation.ts'
import { createConversation } from '../journal/projections/conversation.ts'
import type { Recorded } from '../machines/agent/events.ts'
import type { Agent } from './agent.ts'
import { sharedConversation } from './branch.ts'
import type { EngineCore } from './core.ts'
import { Suspended } from './effects/suspended.ts'
import type { EngineError } from './errors.ts'
import { beginningOf } from './inherit.ts'
import { LazyConversation } from './lazy-conversation.ts'

export class AgentConversation {
  readonly #core: EngineCore
  readonly #agent: Agent
  /** Called with why the agent cannot go on: its log cannot be read, or is not what its snapshot says. */
  readonly #onFailure: (error: unknown) => Promise<EngineError>
  #held = LazyConversation.whole(createConversation())

  constructor(core: EngineCore, agent: Agent, onFailure: (error: unknown) => Promise<EngineError>) {
    this.#core = core
    this.#agent = agent
    this.#onFailure = onFailure
  }

  /** It, where it has been read. */
  get loaded(): Conversation | undefined {
    return this.#held.loaded
  }

  /**
   * It, read from the log now if that was opened with a snapshot. When it cannot be read, or is not what the snapshot
   * says, the agent stops, as on a log that cannot be written, and this rejects with `Suspended`.
   */
  async load(): Promise<Conversation> {
    try {
      return await this.#held.load()
    } catch (error) {
      throw new Suspended((await this.#onFailure(error)).message)
    }
  }

  /** Takes the next event of the log. */
  push(recorded: Recorded): void {
    this.#held.push(recorded)
  }

  /** Takes what its log has of it, as read; with the birth known. */
  restore(own: LazyConversation): void {
    this.#held = this.#behindBase(own)
  }

  /** The birth is known: whatever comes stands behind what the agent begins with. */
  begin(): void {
    this.#held = this.#behindBase(this.#held)
  }

  /** The conversation of a branch begins with what it shares, and that of a fork with its parent's. */
  #behindBase(own: LazyConversation): LazyConversation {
    // Of a log with a torn first line nobody is born yet.
    if (!this.#agent.isBorn) return own
    const { birth, parent, logPath } = this.#agent
    const { base, inherits } = birth
    if (inherits !== undefined && parent !== undefined)
      return own.onto(async () => beginningOf(await parent.conversation.load(), inherits))
    return base === undefined ? own : own.after(() => sharedConversation(this.#core, base, logPath))
  }
}
