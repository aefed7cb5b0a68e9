/**
 * The graph of a run: every situation that differs in what matters, how to get there, and what follows each event.
 */
import type { AnyMachineSnapshot, AnyStateMachine, AnyTransitionDefinition } from 'xstate'
import { createActor } from 'xstate'
import type { StatePath } from 'xstate/graph'
import { getShortestPaths } from 'xstate/graph'
import { phaseOf } from '../../src/machines/agent/accepts.ts'
import { hasChoice } from '../../src/machines/agent/context.ts'
import type { RunEvent } from '../../src/machines/agent/events.ts'
import type { RunSnapshot } from '../../src/machines/agent/fold.ts'
import { agentMachine } from '../../src/machines/agent/machine.ts'
import { AGENT, RUN } from './run-events.ts'
import { everyEvent } from './run-walks.ts'

/** More situations than a run has; a traversal that goes on beyond it has a key that grows. */
const LIMIT = 200_000

/**
 * What makes two situations differ: the state, how many calls are open and waiting, the outcome, the turns left, what a
 * report is looked at for.
 * Not the ids, the counts and the usage, which never end.
 */
export function situationOf({ value, context }: RunSnapshot): string {
  const turnsLeft = context.maxTurns === undefined ? 'all' : context.maxTurns - context.turns
  const waiting = context.calls.filter((call) => call.phase === 'waiting').length
  const open = context.calls.length
  const outcome = context.outcome
  const isDeferred = context.review === 'deferrable' && context.isInBackground
  const review = isDeferred ? 'deferred' : context.review
  // What a run that goes on no more could still do does not matter.
  if (outcome !== undefined && (typeof value === 'string' || !hasChoice(outcome)))
    return JSON.stringify([value, { open, outcome: outcome.kind, review }])
  return JSON.stringify([
    value,
    {
      open,
      waiting,
      outcome: outcome?.kind ?? null,
      turnsLeft,
      // Later it is in the value, or matters no more.
      background: typeof value === 'object' && 'resolving' in value && context.isInBackground,
      news: [context.mail.length, context.owed.length],
      review,
      parting: context.parting,
      isOutOfTime: context.isOutOfTime,
      report: context.hasReportSchema ? [context.corrections, context.report === undefined] : null,
    },
  ])
}

/** Shortest paths to every situation that the events lead to. */
export function shortestRuns(
  events: (run: RunSnapshot) => readonly RunEvent[] = eventsIn,
): StatePath<RunSnapshot, RunEvent>[] {
  return getShortestPaths(agentMachine, {
    events,
    serializeState: situationOf,
    input: { agentId: AGENT, run: RUN },
    limit: LIMIT,
  })
}

/** Every event that could be sent to the run. Positions follow the turns, so that no two calls share an id. */
export const eventsIn = (run: RunSnapshot): RunEvent[] =>
  everyEvent(run, (run.context.turns + 1) * 20).filter((event) => !multiplies(run, event))

/**
 * News, or the end of the time, beside open calls, a limit of turns or a review, and reviews beside limits and places:
 * every combination would be another situation. Walks have them together.
 */
function multiplies(run: RunSnapshot, event: RunEvent): boolean {
  const { context } = run
  const { calls, mail, owed, maxTurns, isOutOfTime, hasReportSchema } = context
  const hasMore = mail.length + owed.length > 0 || isOutOfTime
  const isPlain = calls.length === 0 && maxTurns === undefined && !isOutOfTime
  if (context.review !== 'none' && BESIDE_REVIEWS.has(event.type)) return true
  switch (event.type) {
    case 'agent.prepared':
      return (
        (event.review !== undefined && (hasMore || maxTurns !== undefined)) ||
        (event.review === true && context.isInBackground)
      )
    case 'reply.received':
      return hasMore && event.calls.length > 1
    // Summing up is a matter of the turn alone.
    case 'context.exceeded':
      return hasMore || maxTurns !== undefined || hasReportSchema
    case 'time.expired':
      return (
        !['requesting', 'acting', 'waiting'].includes(phaseOf(run)) ||
        context.isInBackground ||
        isOutOfTime ||
        mail.length > 0 ||
        calls.length > 2 ||
        (owed.length > 0 && phaseOf(run) !== 'waiting') ||
        maxTurns !== undefined ||
        hasReportSchema
      )
    case 'child.launched':
      return owed.length > 0 || !isPlain
    // Whoever has agreed to stop has a way of its own, which is the same whatever else is going on.
    case 'call.ended':
      return (
        event.answers !== undefined &&
        (calls.length > 1 || context.review !== 'none' || maxTurns !== undefined || isOutOfTime)
      )
    case 'message.accepted':
      return mail.length > 0 || !isPlain
    default:
      // Facts that change nothing: it is enough to see that where little else is going on.
      return QUIET.has(event.type) && !isPlain
  }
}

const BESIDE_REVIEWS: ReadonlySet<RunEvent['type']> = new Set([
  'agent.backgrounded',
  'child.launched',
  'context.exceeded',
  'message.accepted',
  'time.expired',
])

const QUIET: ReadonlySet<RunEvent['type']> = new Set([
  'agent.diagnosed',
  'permission.granted',
  'mode.changed',
  'worktree.requested',
  'worktree.created',
  'worktree.decided',
  'worktree.removed',
  'worktree.left',
  'budget.warned',
  'progress.summarised',
  'name.registered',
  'hook.started',
  'hook.process_started',
  'hook.ended',
  'servers.requested',
  'server.started',
  'run.suspended',
  'run.resumed',
] as const)

/** One event on one situation, and the transitions that the machine took for it, eventless ones included. */
export interface Edge {
  readonly from: RunSnapshot
  readonly event: RunEvent
  readonly to: RunSnapshot
  readonly taken: readonly AnyTransitionDefinition[]
}

/** Every event on every situation that a path leads to. */
export function edgesOf(
  paths: readonly StatePath<RunSnapshot, RunEvent>[],
  events: (run: RunSnapshot) => readonly RunEvent[] = eventsIn,
): Edge[] {
  return paths.flatMap(({ state: from }) =>
    events(from).map((event) => ({ from, event, ...follow(from, event) })),
  )
}

/**
 * Takes one step on a live actor, because only its inspection events name the eventless transitions. The actor is
 * built anew for each step: a snapshot belongs to no actor.
 */
function follow(from: RunSnapshot, event: RunEvent): Pick<Edge, 'to' | 'taken'> {
  const taken: AnyTransitionDefinition[] = []
  if (from.status !== 'active') return { to: from, taken }
  const actor = createActor(agentMachine, {
    input: { agentId: AGENT, run: RUN },
    snapshot: agentMachine.getPersistedSnapshot(from),
    inspect: (inspected) => {
      if (inspected.type === '@xstate.microstep') taken.push(...inspected._transitions)
    },
  })
  actor.start()
  taken.length = 0
  actor.send(event)
  const to = actor.getSnapshot()
  actor.stop()
  return { to, taken }
}

/** Names of the states and transitions of a machine that the edges neither start from, lead to nor take. */
export function uncovered(machine: AnyStateMachine, edges: readonly Edge[]): string[] {
  const seenStates = new Set(edges.flatMap(({ from, to }) => [...stateIds(from), ...stateIds(to)]))
  const seenTransitions = new Set(edges.flatMap(({ taken }) => taken))
  return nodesOf(machine.root).flatMap((node) => [
    // A state that is left in the step that enters it is in no snapshot; its transitions show that it was there.
    ...(seenStates.has(node.id) || transitionsOf(node).some((each) => seenTransitions.has(each))
      ? []
      : [`state ${node.id}`]),
    ...transitionsOf(node)
      .filter((each) => !seenTransitions.has(each))
      .map((each) => `transition ${nameOfTransition(each)}`),
  ])
}

/** `source on event [guard] → target`. */
export function nameOfTransition({ source, eventType, guard, target }: AnyTransitionDefinition): string {
  const when =
    guard === undefined ? '' : ` [${typeof guard === 'string' ? guard : 'type' in guard ? guard.type : '?'}]`
  const to = target === undefined ? 'stays' : target.map(({ id }) => id).join(', ')
  return `${source.id} on ${eventType === '' ? 'always' : eventType}${when} → ${to}`
}

type Node = AnyStateMachine['root']

const nodesOf = (node: Node): Node[] => [node, ...Object.values(node.states).flatMap(nodesOf)]

const transitionsOf = (node: Node): AnyTransitionDefinition[] => [
  ...[...node.transitions.values()].flat(),
  ...(node.always ?? []),
]

const stateIds = (run: AnyMachineSnapshot): string[] => run._nodes.map(({ id }) => id)
