import { describe, expect, it } from 'vitest'
import type { Phase } from '../../../src/machines/agent/accepts.ts'
import { phaseOf } from '../../../src/machines/agent/accepts.ts'
import { startable } from '../../../src/machines/agent/calls.ts'
import { hasReport, statusOf } from '../../../src/machines/agent/context.ts'
import { callActorId } from '../../../src/machines/agent/effects.ts'
import { agentMachine } from '../../../src/machines/agent/machine.ts'
import type { Wanted } from '../../helpers/live-run.ts'
import { wantedBy } from '../../helpers/live-run.ts'
import { AGENT, RUN } from '../../helpers/run-events.ts'
import { edgesOf, eventsIn, shortestRuns, situationOf, uncovered } from '../../helpers/run-graph.ts'

const paths = shortestRuns()
const edges = edgesOf(paths)
const ENDS = ['completed', 'failed', 'killed']
const SETTLING: readonly Phase[] = ['draining', 'stopping', 'reviewing']

describe('the graph of a run', () => {
  it('covers every state and every transition of the machine', () => {
    expect(uncovered(agentMachine, edges)).toEqual([])
  })

  it('names what is not covered: without kills, the transitions of a kill and the end that only they reach', {
    timeout: 120_000,
  }, () => {
    const events = (run: Parameters<typeof eventsIn>[0]) =>
      eventsIn(run).filter(({ type }) => type !== 'kill.requested' && type !== 'run.resumed')
    const reached = new Set(shortestRuns(events).map(({ state }) => situationOf(state)))
    const left = edges.filter(
      ({ from, event }) =>
        reached.has(situationOf(from)) && events(from).some(({ type }) => type === event.type),
    )
    expect(uncovered(agentMachine, left)).toEqual([
      'transition agent on run.resumed → stays',
      'transition agent.resolving on kill.requested → agent.settling',
      'transition agent.running on kill.requested → agent.settling',
      'transition agent.settling on agent.ended [endsKilled] → agent.killed',
      'transition agent.settling.draining on review.ended [hasSkippedReview] → stays',
      'transition agent.settling.stopping on kill.requested → agent.settling.draining',
      'transition agent.settling.reviewing on kill.requested → agent.settling.draining',
      'state agent.killed',
    ])
  })

  it('is closed: no event leads to a situation that no path leads to', () => {
    const known = new Set(paths.map(({ state }) => situationOf(state)))
    expect([...new Set(edges.map(({ to }) => situationOf(to)))].filter((to) => !known.has(to))).toEqual([])
  })

  it('has ends that are ends: done, without effects, with the status of their outcome', () => {
    const ends = paths.map(({ state }) => state).filter((run) => ENDS.includes(phaseOf(run)))
    expect(new Set(ends.map(phaseOf))).toEqual(new Set(ENDS))
    for (const run of ends) {
      expect(run.status).toBe('done')
      expect(run.children).toEqual({})
      expect(run.context.outcome && statusOf(run.context.outcome)).toBe(phaseOf(run))
    }
  })

  it('has no way out of an end, and is done nowhere else', () => {
    for (const { from, to } of edges) {
      if (ENDS.includes(phaseOf(from))) expect(to).toBe(from)
      expect(to.status).toBe(ENDS.includes(phaseOf(to)) ? 'done' : 'active')
    }
  })

  it('has no dead end: from every situation some end can be reached', () => {
    const toEnd = new Set(
      paths
        .map(({ state }) => state)
        .filter(isDone)
        .map(situationOf),
    )
    for (let size = -1; size < toEnd.size; ) {
      size = toEnd.size
      for (const { from, to } of edges) if (toEnd.has(situationOf(to))) toEnd.add(situationOf(from))
    }
    expect(paths.map(({ state }) => situationOf(state)).filter((each) => !toEnd.has(each))).toEqual([])
  })

  it('leads to every end through settling, with an outcome (M5)', () => {
    for (const { from, to, event } of edges) {
      if (isDone(to) && !isDone(from)) {
        expect(SETTLING).toContain(phaseOf(from))
        expect(event.type).toBe('agent.ended')
      }
      expect(to.context.outcome !== undefined).toBe(SETTLING.includes(phaseOf(to)) || isDone(to))
    }
  })

  it('completes no run with a report whose review is owed (M6)', () => {
    const ends = edges.filter(({ from, to }) => isDone(to) && !isDone(from))
    for (const stage of ['done', 'deferrable'])
      expect(ends.some(({ to }) => to.context.review === stage)).toBe(true)
    for (const { from, to, event } of ends) {
      const { review, isInBackground } = to.context
      if (review !== 'none' && hasReport(to.context) && phaseOf(to) === 'completed')
        expect([review, 'review' in event]).toEqual(
          review === 'deferrable' && isInBackground ? ['deferrable', true] : ['done', false],
        )
      expect(from.context.review).toBe(review)
    }
  })

  it('keeps the first outcome on every way (M5)', () => {
    for (const { from, to, event } of edges) {
      // A stop hook takes the outcome back; the run goes on and comes to another.
      if (from.context.outcome !== undefined && event.type !== 'stop.blocked')
        expect(to.context.outcome).toEqual(from.context.outcome)
    }
  })

  it('wants in every situation the effects of its state and of no other, each with its ids', () => {
    const ids = { agentId: AGENT, run: RUN }
    for (const { state: run } of paths) {
      const calls = run.context.calls.filter(({ phase }) => phase !== 'waiting')
      const wanted: Record<Phase, Record<string, Wanted>> = {
        awaitingPrompt: {},
        preparing: { prepare: { src: 'prepare', input: ids } },
        compacting: { compact: { src: 'compact', input: ids } },
        requesting: { requestModel: { src: 'requestModel', input: ids } },
        acting: Object.fromEntries(
          calls.map(({ callId }) => [callActorId(callId), { src: 'runCall', input: { ...ids, callId } }]),
        ),
        checking: { checkReport: { src: 'checkReport', input: ids } },
        waiting: { awaitNews: { src: 'awaitNews', input: ids } },
        draining: { drain: { src: 'drain', input: ids } },
        stopping: { stopHooks: { src: 'stopHooks', input: ids } },
        reviewing: { review: { src: 'review', input: ids } },
        completed: {},
        failed: {},
        killed: {},
      }
      expect(wantedBy(run), situationOf(run)).toEqual(wanted[phaseOf(run)])
    }
  })

  it('lets no call wait that could run', () => {
    const acting = paths.filter(({ state }) => phaseOf(state) === 'acting' && !state.context.isOutOfTime)
    expect(acting.length).toBeGreaterThan(10)
    for (const { state } of acting) expect(startable(state.context.calls), situationOf(state)).toEqual([])
  })
})

const isDone = ({ status }: { readonly status: string }): boolean => status === 'done'
