/**
 * A conversation of which the beginning may still be in the log.
 *
 *   Z1  Nothing is read before somebody asks, and only once. What happens meanwhile is kept and comes behind it.
 *   Z2  There is no half conversation: who asks gets all of it, or an error.
 */
import type { Conversation, ConversationEntry } from '../journal/projections/conversation.ts'
import { isConversationEntry } from '../journal/projections/conversation.ts'
import type { Recorded } from '../machines/agent/events.ts'

type Held =
  | { readonly kind: 'whole'; readonly conversation: Conversation }
  | {
      readonly kind: 'unread'
      readonly read: () => Promise<Conversation>
      readonly since: ConversationEntry[]
    }
  | { readonly kind: 'reading'; readonly done: Promise<Conversation>; readonly since: ConversationEntry[] }

export class LazyConversation {
  #held: Held

  private constructor(held: Held) {
    this.#held = held
  }

  /** One that is there. */
  static whole(conversation: Conversation): LazyConversation {
    return new LazyConversation({ kind: 'whole', conversation })
  }

  /** One whose beginning `read` gets from the log when it is wanted. */
  static unread(read: () => Promise<Conversation>): LazyConversation {
    return new LazyConversation({ kind: 'unread', read, since: [] })
  }

  /** The same behind what a branch shares: `readShared` gets that when it is wanted. */
  after(readShared: () => Promise<Conversation>): LazyConversation {
    return LazyConversation.unread(async () => {
      const shared = await readShared()
      const own = await this.load()
      const whole = shared.fork(shared.length)
      whole.beginOwn()
      for (const entry of own.entries()) whole.push(entry)
      return whole
    })
  }

  /** The same behind a beginning that is nobody else's: `readBeginning` makes it when it is wanted. */
  onto(readBeginning: () => Promise<Conversation>): LazyConversation {
    return LazyConversation.unread(async () => {
      const whole = await readBeginning()
      whole.beginOwn()
      const own = await this.load()
      for (const entry of own.entries()) whole.push(entry)
      return whole
    })
  }

  /** Takes the next event of the log. */
  push(recorded: Recorded): void {
    if (this.#held.kind === 'whole') this.#held.conversation.push(recorded)
    else if (isConversationEntry(recorded)) this.#held.since.push(recorded)
  }

  /** The conversation, if all of it is there. */
  get loaded(): Conversation | undefined {
    return this.#held.kind === 'whole' ? this.#held.conversation : undefined
  }

  /** The conversation. Rejects as the reading of the log does; then it stays unread, and the next one tries again. */
  load(): Promise<Conversation> {
    const held = this.#held
    switch (held.kind) {
      case 'whole':
        return Promise.resolve(held.conversation)
      case 'reading':
        return held.done
      case 'unread': {
        const { read, since } = held
        const done = read().then(
          (conversation) => {
            for (const entry of since) conversation.push(entry)
            this.#held = { kind: 'whole', conversation }
            return conversation
          },
          (error: unknown) => {
            this.#held = { kind: 'unread', read, since }
            throw error
          },
        )
        this.#held = { kind: 'reading', done, since }
        return done
      }
    }
  }
}
