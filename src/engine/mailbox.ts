/**
 * The mailbox of one agent: the only way in which something happens to it.
 *
 * Owns: the order of events, and that each is durable before the agent sees it.
 * Does not own: what an event means (the machine), how it is written (the codec), where (the storage).
 *
 *   B1  One batch is in flight at a time. Everything between two awaits is synchronous, and there is one await.
 *   B2  An event that the agent does not take is never written: it is late, and counted.
 *   B3  An event whose guard or assign throws is never written: `agent.faulted` takes its place. A poison event
 *       in the log would break every resume.
 *   B4  A batch is appended as a whole, then applied event by event. If it cannot be appended, none of it has
 *       happened and the agent stops there.
 */

import type { MaybePromise } from '../journal/storage.ts'
import type { EventDraft, Recorded } from '../machines/agent/events.ts'

/** `taken`: durable and applied. `late`: the agent had moved on; nothing was written. */
export type Posted = 'taken' | 'late'

/** What a mailbox needs of its agent. */
export interface MailboxOwner {
  /**
   * Computes what the event leads to and gives it its place: the lines to write, or nothing when the agent does
   * not take it. Must not change anything that `unstage` does not undo.
   */
  stage(draft: EventDraft): { readonly recorded: Recorded; readonly text: string } | 'late'
  /** Forgets everything staged and not applied. */
  unstage(): void
  append(text: string): MaybePromise<void>
  /** Applies the event that was staged first. Must not throw. */
  apply(recorded: Recorded): void
  /** The log cannot be written: the agent stops. */
  halt(error: unknown): void
  late(draft: EventDraft): void
}

interface Post {
  /** Asked when its turn has come, behind everything that was posted before. */
  readonly drafts: () => readonly EventDraft[]
  readonly isLast: boolean
  readonly isChain: boolean
  readonly resolve: (posted: Posted) => void
  readonly reject: (error: unknown) => void
}

export class Mailbox {
  readonly #owner: MailboxOwner
  #waiting: Post[] = []
  #isPumping = false
  #closed: 'open' | 'closed' | { readonly error: unknown } = 'open'

  constructor(owner: MailboxOwner) {
    this.#owner = owner
  }

  /**
   * Posts events that belong together. Resolves `taken` when the last of them is; rejects when the log cannot be
   * written. After the mailbox is closed every event is late.
   */
  post(...drafts: readonly EventDraft[]): Promise<Posted> {
    return this.#enqueue(() => drafts, false)
  }

  /** The same with events that are asked for when everything before is durable or staged; it may be none. */
  postLate(drafts: () => readonly EventDraft[]): Promise<Posted> {
    return this.#enqueue(drafts, false)
  }

  /** Posts events of which each stands on the one before: behind one that is late none is taken. */
  postChain(...drafts: readonly EventDraft[]): Promise<Posted> {
    return this.#enqueue(() => drafts, false, true)
  }

  /**
   * Posts the last events that this mailbox takes: whatever comes behind them is late. `last` is asked for them when
   * everything before is durable or staged, and may give none.
   */
  closeWith(last: () => readonly EventDraft[]): Promise<Posted> {
    return this.#enqueue(last, true)
  }

  get isOpen(): boolean {
    return this.#closed === 'open'
  }

  /** Takes no more events. */
  close(): void {
    if (this.#closed === 'open') this.#closed = 'closed'
  }

  #enqueue(drafts: () => readonly EventDraft[], isLast: boolean, isChain = false): Promise<Posted> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ drafts, isLast, isChain, resolve, reject })
      if (!this.#isPumping) this.#pump()
    })
  }

  #pump(): void {
    this.#isPumping = true
    while (this.#waiting.length > 0) {
      const posts = this.#waiting
      this.#waiting = []
      let batch: Batch
      try {
        batch = this.#stage(posts)
        const appended = batch.text === '' ? undefined : this.#owner.append(batch.text)
        if (appended instanceof Promise) {
          // The one await: everything before is staged, everything after is durable.
          const durable = batch
          appended.then(
            () => {
              this.#commit(durable)
              this.#pump()
            },
            (error: unknown) => {
              this.#fail(posts, error)
              this.#pump()
            },
          )
          return
        }
      } catch (error) {
        this.#fail(posts, error)
        continue
      }
      this.#commit(batch)
    }
    this.#isPumping = false
  }

  #stage(posts: readonly Post[]): Batch {
    let text = ''
    const steps: Recorded[] = []
    const done: (() => void)[] = []
    for (const post of posts) {
      let posted: Posted = 'late'
      let isBroken = false
      for (const draft of post.drafts()) {
        const staged: ReturnType<MailboxOwner['stage']> =
          this.#closed === 'open' && !isBroken ? this.#owner.stage(draft) : 'late'
        posted = staged === 'late' ? 'late' : 'taken'
        isBroken = post.isChain && staged === 'late'
        if (staged === 'late') this.#owner.late(draft)
        else {
          text += staged.text
          steps.push(staged.recorded)
        }
      }
      if (post.isLast) this.close()
      const closed = this.#closed
      done.push(typeof closed === 'object' ? () => post.reject(closed.error) : () => post.resolve(posted))
    }
    return { text, steps, done }
  }

  #commit({ steps, done }: Batch): void {
    for (const recorded of steps) this.#owner.apply(recorded)
    for (const settle of done) settle()
  }

  #fail(posts: readonly Post[], error: unknown): void {
    this.#closed = { error }
    this.#owner.unstage()
    for (const post of posts) post.reject(error)
    this.#owner.halt(error)
  }
}

interface Batch {
  readonly text: string
  readonly steps: readonly Recorded[]
  readonly done: readonly (() => void)[]
}
