/**
 * Stately's inspection events for a host.
 *
 * Every run is a root of its own for XState, which keeps a tree of thousands cheap; an inspector wants one tree.
 * So the host gets copies: each with the session root's id and with actor references that know their parent.
 *
 *   I1  An inspector that throws or is slow never touches an agent: XState calls inspectors in the middle of a
 *       step, and a throw there can wedge an actor for ever. Here events only enter a queue; the host is called
 *       from a turn of its own, inside try/catch.
 *   I2  The queue is bounded. What does not fit is counted and said, not kept.
 */
import type { InspectionEvent } from 'xstate'
import type { Agent } from './agent.ts'
import { messageOf } from './errors.ts'

/** Inspection events that may wait for the host. */
const MAX_WAITING = 10_000

export type Inspector = (event: InspectionEvent) => void
type Report = (code: string, message: string) => void

/** Makes, for each agent, what its run actors are inspected with. */
export function createInspection(inspect: Inspector, report: Report): (agent: Agent) => Inspector {
  const queue = createQueue(inspect, report)
  const views = new WeakMap<object, object>()

  /** The same reference for the same actor, with its parent in sight. */
  const viewOf = (ref: object, agent: Agent): object => {
    const known = views.get(ref)
    if (known !== undefined) return known
    const parent = parentOf(ref, agent)
    const view = Object.create(ref, {
      ...(parent !== undefined && { _parent: { value: viewOf(parent.ref, parent.agent) } }),
    }) as object
    views.set(ref, view)
    return view
  }

  return (agent) => {
    // The first run actor of the session's root: one id for the whole tree, over all its runs.
    const rootId = () => agent.session.inspectionRootId
    return (event) => {
      const copy: Record<string, unknown> = { ...event, rootId: rootId() }
      for (const key of ['actorRef', 'sourceRef'] as const) {
        const ref = copy[key]
        if (typeof ref === 'object' && ref !== null) copy[key] = viewOf(ref, agent)
      }
      queue(copy as unknown as InspectionEvent)
    }
  }
}

/** The parent of an actor: XState's own for an effect, the caller's run for the run of a child. */
function parentOf(ref: object, agent: Agent): { readonly ref: object; readonly agent: Agent } | undefined {
  const own = (ref as { readonly _parent?: object })._parent
  if (own !== undefined) return { ref: own, agent }
  const above = agent.parent
  return above?.run === undefined ? undefined : { ref: above.run.ref, agent: above }
}

function createQueue(inspect: Inspector, report: Report): Inspector {
  let waiting: InspectionEvent[] = []
  let dropped = 0
  let hasFailed = false
  const flush = () => {
    const events = waiting
    waiting = []
    if (dropped > 0) {
      report('inspector-slow', `${dropped} inspection events were dropped: more than ${MAX_WAITING} were waiting`)
      dropped = 0
    }
    for (const event of events) {
      try {
        inspect(event)
      } catch (error) {
        // Once is enough: a broken inspector breaks on every event.
        if (!hasFailed) report('inspector-failed', `the inspector threw: ${messageOf(error)}`)
        hasFailed = true
      }
    }
  }
  return (event) => {
    if (waiting.length >= MAX_WAITING) {
      dropped += 1
      return
    }
    if (waiting.length === 0) setImmediate(flush)
    waiting.push(event)
  }
}
