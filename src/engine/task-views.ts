/**
 * What all agents are at, for whoever shows it: the live ones, and those that have ended for a while yet.
 *
 *   T1  A view is made again when facts of its agent came, once for all facts of one moment, from what the agent has
 *       counted anyway: nothing of its log or conversation is looked at.
 *   T2  Nothing is shown twice: without a difference there is no new list.
 *   T3  A child that has ended stays until `limits.taskRetentionMs` after its end was told, or could be told to nobody;
 *       until then as data only, not as an agent. After that `TaskOutput` finds it on the disk.
 *   T4  While nobody looks, an event costs a note: no view is made of what runs, and no list.
 */
import { Observable, Subject } from 'rxjs'
import type { CancelTimer, Clock } from '../effects/clock.ts'
import type { AgentEvent, RunKey } from '../machines/agent/events.ts'
import type { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { AgentView } from './api.ts'
import type { Telling } from './task-ledger.ts'
import { tellingOf, viewOf } from './view.ts'

/** The run of a child that has ended, and that somebody is to be told of. */
interface Untold {
  readonly key: RunKey
  /** Whether somebody will be. */
  readonly isOwed: () => boolean
}

export class TaskViews {
  readonly #clock: Clock
  readonly #retentionMs: number
  readonly #lists = new Subject<readonly AgentView[]>()
  readonly #views = new Map<AgentId, AgentView>()
  readonly #untold = new Map<AgentId, Untold>()
  /** Children whose ends were told, until they are shown no more. */
  readonly #leaving = new Map<AgentId, { readonly run: number; readonly cancel: CancelTimer }>()
  /** Something has happened to them since the last flush. */
  readonly #changed = new Set<Agent>()
  /** Something has happened to them while nobody looked. */
  readonly #unseen = new Set<Agent>()
  /** A view has changed without its agent. */
  #isNew = false
  #isClosed = false

  constructor(clock: Clock, retentionMs: number) {
    this.#clock = clock
    this.#retentionMs = retentionMs
  }

  /** The list now, and each time it changes; completes when the engine closes. */
  get tasks$(): Observable<readonly AgentView[]> {
    return new Observable((subscriber) => {
      if (!this.#isClosed) subscriber.next(this.#list())
      return this.#lists.subscribe(subscriber)
    })
  }

  /** Something has happened to an agent. `event`: what, where it is a fact. */
  note(agent: Agent, event?: AgentEvent): void {
    if (this.#isClosed) return
    if (event !== undefined) this.#noteTold(event)
    if (this.#canWait(agent)) {
      this.#unseen.add(agent)
      return
    }
    // Behind everything that this leads to at once: an end is noted by its session first.
    if (this.#changed.size === 0) queueMicrotask(() => this.#flush())
    this.#changed.add(agent)
  }

  /** T4: what runs can be looked at later, too. Its first view is made at once, which keeps the order. */
  #canWait(agent: Agent): boolean {
    const { id } = agent
    const isNewlyBack = this.#untold.has(id) || this.#leaving.has(id)
    return !this.#lists.observed && !this.#isNew && !isNewlyBack && this.#views.has(id) && agent.isRunning
  }

  close(): void {
    this.#isClosed = true
    for (const { cancel } of this.#leaving.values()) cancel()
    this.#leaving.clear()
    this.#untold.clear()
    this.#lists.complete()
  }

  #noteTold(event: AgentEvent): void {
    if (event.type === 'message.added' || event.type === 'run.started')
      for (const key of event.tells ?? []) this.#showTold(key, 'notified')
    else if (event.type === 'call.ended' && event.delivered !== undefined)
      this.#showTold(event.delivered, 'retrieved')
  }

  /** Also of an agent that is here as data only. */
  #showTold(key: RunKey, how: Telling): void {
    this.#told(key)
    const view = this.#views.get(key.agentId)
    if (view?.run !== key.run) return
    this.#views.set(key.agentId, { ...view, ...tellingOf(how) })
    this.#isNew = true
  }

  #told({ agentId, run }: RunKey): void {
    if (this.#untold.get(agentId)?.key.run !== run) return
    this.#untold.delete(agentId)
    const cancel = this.#clock.setTimer(this.#retentionMs, () => {
      this.#leaving.delete(agentId)
      this.#views.delete(agentId)
      this.#show()
    })
    this.#leaving.set(agentId, { run, cancel })
  }

  #flush(): void {
    if (this.#isClosed) return
    let isNew = this.#isNew
    this.#isNew = false
    let hasEnded = false
    for (const agent of this.#changed) {
      if (!agent.isBorn) continue
      if (agent.isRunning) this.#isBack(agent.id)
      else {
        hasEnded = true
        if (agent.parent !== undefined) this.#end(agent)
      }
      // What runs can be looked at later, too; of what has ended the view is all that stays. The first keeps the order.
      if (agent.isRunning && !this.#lists.observed && this.#views.has(agent.id)) this.#unseen.add(agent)
      else if (this.#look(agent)) isNew = true
    }
    this.#changed.clear()
    // Whoever was to be told may be gone.
    if (hasEnded) for (const { key, isOwed } of [...this.#untold.values()]) if (!isOwed()) this.#told(key)
    if (isNew) this.#show()
  }

  /** Makes the view of an agent again. Whether it is another one. */
  #look(agent: Agent): boolean {
    this.#unseen.delete(agent)
    const view = viewOf(agent)
    const before = this.#views.get(agent.id)
    if (before !== undefined && isSameView(before, view)) return false
    this.#views.set(agent.id, view)
    return true
  }

  #end({ id, birth, parent, runNumber: run, session }: Agent): void {
    if (this.#untold.get(id)?.key.run === run || this.#leaving.get(id)?.run === run) return
    this.#isBack(id)
    const callId = birth.parent?.callId
    this.#untold.set(id, {
      key: { agentId: id, run },
      isOwed: () =>
        session.hosts.ownerOf({ id, parent }, run) !== undefined ||
        // It waits for the call, and its result is on its way.
        (parent?.isRunning === true && parent.ledger.open.some(({ started }) => started.callId === callId)),
    })
  }

  /** It is at work, whatever became of its last run. */
  #isBack(id: AgentId): void {
    this.#untold.delete(id)
    this.#leaving.get(id)?.cancel()
    this.#leaving.delete(id)
  }

  #show(): void {
    if (this.#lists.observed) this.#lists.next(this.#list())
  }

  #list(): readonly AgentView[] {
    for (const agent of this.#unseen) this.#look(agent)
    return [...this.#views.values()]
  }
}

function isSameView(one: AgentView, other: AgentView): boolean {
  const { totalUsage: spent, ...rest } = one
  const { totalUsage: otherSpent, ...others } = other
  return isShallowEqual(rest, others) && isShallowEqual(spent, otherSpent)
}

function isShallowEqual(one: object, other: object): boolean {
  const entries = Object.entries(one)
  const others = new Map(Object.entries(other))
  return (
    entries.length === others.size && entries.every(([name, value]) => Object.is(others.get(name), value))
  )
}
