/**
 * Stately's inspection events for a host.
 *
 * Every run is a root of its own for XState, which keeps a tree of thousands cheap; an inspector wants one tree.
 * So the host gets copies: each with the id of the session's root, and with views of the actors that know their
 * parent and have a name that says what they are.
 *
 *   I1  An inspector that throws or is slow never touches an agent: XState calls inspectors in the middle of a
 *       step, and a throw there can wedge an actor for ever. Here events only enter a queue; the host is called
 *       from a turn of its own, inside try/catch, and between two slices of its work the agents have theirs.
 *   I2  The queue is bounded. What does not fit is counted and said, not kept.
 *   I3  A view can be looked at, not driven: whatever happens to an agent comes through its mailbox.
 */
import type { InspectionEvent } from 'xstate'
import { toObserver } from 'xstate'
import { callActorId } from '../machines/agent/effects.ts'
import { CallId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { Inspector } from './api.ts'
import { messageOf } from './errors.ts'

/** Inspection events that may wait for the host. */
const MAX_WAITING = 10_000
/** How long the host may work through them, in milliseconds, before everybody else has a turn. */
const SLICE_MS = 10

type Inspect = (event: InspectionEvent) => void
type Report = (code: 'inspector-failed' | 'inspector-slow', message: string) => void

/** Makes, for each agent, what its run actors are inspected with. At most `maxWaiting` events wait for the host. */
export function createInspection(
  inspector: Inspector,
  report: Report,
  maxWaiting = MAX_WAITING,
): (agent: Agent) => Inspect {
  const { enqueue, fail } = createQueue(inspector, report, maxWaiting)
  const views = new WeakMap<object, object>()

  /** The same view for the same actor. */
  const viewOf = (ref: object, agent: Agent): object => {
    const known = views.get(ref)
    if (known !== undefined) return known
    const parent = parentOf(ref, agent)
    const name = nameOf(ref, agent)
    const view: object = Object.create(ref, {
      ...(parent !== undefined && { _parent: { value: viewOf(parent.ref, parent.agent) } }),
      ...(name !== undefined && { id: { value: name } }),
      send: { value: refuse },
      start: { value: refuse },
      stop: { value: refuse },
    })
    views.set(ref, view)
    return view
  }

  const copyOf = (event: InspectionEvent, agent: Agent): InspectionEvent => {
    const copy: Record<string, unknown> = { ...event, rootId: agent.session.inspectionRootId }
    for (const key of ['actorRef', 'sourceRef'] as const) {
      const ref = copy[key]
      if (typeof ref === 'object' && ref !== null) copy[key] = viewOf(ref, agent)
    }
    if (event.type === '@xstate.actor') {
      // Inspectors ask a new actor for its snapshot when they come to it, which is late: the actor may have ended.
      const snapshot = event.actorRef.getSnapshot()
      copy['actorRef'] = Object.create(viewOf(event.actorRef, agent), {
        getSnapshot: { value: () => snapshot },
      })
    }
    // The fields of the event that it is a copy of, with views where there were actors.
    return copy as unknown as InspectionEvent
  }

  return (agent) => (event) => {
    try {
      // A child may outlive, over a restart, the run that started it: that one is not started again, only shown.
      agent.parent?.run?.announce()
      enqueue(copyOf(event, agent))
    } catch (error) {
      // Here XState is in the middle of a step: not even a bug of this file may come out.
      fail(error)
    }
  }
}

/** The parent of an actor: XState's own for an effect, the caller's run for the run of a child. */
function parentOf(ref: object, agent: Agent): { readonly ref: object; readonly agent: Agent } | undefined {
  const own = ownParentOf(ref)
  if (own !== undefined) return { ref: own, agent }
  const above = agent.parent
  return above?.run === undefined ? undefined : { ref: above.run.ref, agent: above }
}

/** For a run the kind of agent and its task, for a call its tool; undefined where XState's own name is good. */
function nameOf(ref: object, agent: Agent): string | undefined {
  if (ownParentOf(ref) === undefined) {
    const { agentType, description } = agent.birth.plan
    const name = agent.parent === undefined ? agentType : `${agentType}: ${description}`
    return agent.runNumber > 1 ? `${name} (run ${agent.runNumber})` : name
  }
  const id = 'id' in ref ? String(ref.id) : ''
  const call = CallId.safeParse(id.slice(id.indexOf(':') + 1))
  if (!call.success || id !== callActorId(call.data)) return undefined
  const tool = agent.toolUse(call.data)?.name
  return tool === undefined ? undefined : `${tool} ${call.data}`
}

/** What XState knows as the parent. Not part of its types; its own inspectors read it, too. */
function ownParentOf(ref: object): object | undefined {
  return '_parent' in ref && typeof ref._parent === 'object' && ref._parent !== null ? ref._parent : undefined
}

function refuse(): never {
  throw new Error('an inspected actor can be looked at, not driven; use the methods of the engine')
}

function createQueue(
  inspector: Inspector,
  report: Report,
  maxWaiting: number,
): { readonly enqueue: Inspect; readonly fail: (error: unknown) => void } {
  const observer = toObserver(inspector)
  let waiting: InspectionEvent[] = []
  let dropped = 0
  let hasFailed = false

  const fail = (error: unknown) => {
    // Once is enough: a broken inspector breaks on every event.
    if (!hasFailed)
      report('inspector-failed', `the inspector failed: ${messageOf(error)}; no agent is touched`)
    hasFailed = true
  }
  const deliver = (event: InspectionEvent) => {
    try {
      // An async function is one that returns nothing, for TypeScript; its rejection would end the process.
      const returned: unknown = observer.next?.(event)
      if (returned instanceof Promise) returned.catch(fail)
    } catch (error) {
      fail(error)
    }
  }
  const flush = () => {
    if (dropped > 0) {
      report(
        'inspector-slow',
        `${dropped} inspection events were dropped: ${maxWaiting} were waiting for the inspector; no agent is touched`,
      )
      dropped = 0
    }
    const until = performance.now() + SLICE_MS
    let done = 0
    for (const event of waiting) {
      deliver(event)
      done += 1
      if (performance.now() >= until) break
    }
    waiting = waiting.slice(done)
    if (waiting.length > 0) setImmediate(flush)
  }

  const enqueue = (event: InspectionEvent) => {
    if (waiting.length >= maxWaiting) {
      dropped += 1
      return
    }
    if (waiting.length === 0) setImmediate(flush)
    waiting.push(event)
  }
  return { enqueue, fail }
}
