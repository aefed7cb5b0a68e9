/** What must hold for a session that has come to its end, whatever was done to the processes that worked on it. */
import { expect } from 'vitest'
import { accepts } from '../../../src/machines/agent/accepts.ts'
import type { AgentState } from '../../../src/machines/agent/fold.ts'
import { foldAgent, UNBORN } from '../../../src/machines/agent/fold.ts'
import { markedProcesses } from './marked-processes.ts'
import type { AgentLog } from './stage.ts'
import { callsIn, ofType } from './stage.ts'

/**
 * Every log decodes without a loss and folds, each event taken by the state before it; each run has one end, each
 * call one answer; and each child is delivered once, by its parent.
 */
export function expectLawful(logs: readonly AgentLog[]): void {
  for (const { path, log, events } of logs) {
    expect(
      log.damage.filter(({ missing, reason }) => missing > 0 || reason === 'repeat'),
      `${path}: nothing is lost`,
    ).toEqual([])
    expect(log.torn, `${path}: no torn tail is left at an end`).toBeUndefined()
    let state: AgentState = UNBORN
    for (const event of events) {
      if (state.run !== undefined && event.type !== 'agent.spawned' && event.type !== 'run.started') {
        expect(accepts(state.run, event), `${path}: ${event.type} is taken`).toBe(true)
      }
      state = foldAgent(state, event)
    }
    const runs = ofType(events, 'run.started').map(({ run }) => run)
    expect(runs, `${path}: its runs are counted`).toEqual(runs.map((_, i) => i + 1))
    expect(
      ofType(events, 'agent.ended').map(({ run }) => run),
      `${path}: each run has one end`,
    ).toEqual(runs)
    const asked = ofType(events, 'reply.received').flatMap(({ calls }) => calls.map(({ callId }) => callId))
    const answered = ofType(events, 'call.ended').map(({ callId }) => callId)
    expect(answered.toSorted(), `${path}: each call is answered once`).toEqual(asked.toSorted())
    expectPaired(path, events)
  }
  const delivered = logs.flatMap(({ events }) =>
    ofType(events, 'call.ended').flatMap(({ delivered: key }) =>
      key === undefined ? [] : [`${key.agentId} ${key.run}`],
    ),
  )
  const ended = logs
    .filter(({ isRoot }) => !isRoot)
    .flatMap(({ events }) =>
      ofType(events, 'agent.ended').map(({ run }) => `${ofType(events, 'agent.spawned')[0]?.agentId} ${run}`),
    )
  expect(delivered.toSorted(), 'each end of a child is delivered once').toEqual(ended.toSorted())
}

/** A run goes on only after it was switched off, and what was switched off goes on. */
function expectPaired(path: string, events: AgentLog['events']): void {
  const switches = events
    .map(({ type }) => type)
    .filter((type) => type === 'run.suspended' || type === 'run.resumed')
  const pairs = switches.map((_, i) => (i % 2 === 0 ? 'run.suspended' : 'run.resumed'))
  expect(switches, `${path}: each stop has its restart`).toEqual(pairs)
}

/** Nothing that any agent of the session has started is still there (Linux). */
export function expectNoProcesses(logs: readonly AgentLog[]): void {
  const ids = logs.flatMap(({ events }) => ofType(events, 'agent.spawned').map(({ agentId }) => agentId))
  expect(markedProcesses(ids), 'no process of the session survives').toEqual([])
}

/** How often each line of a ledger is there. */
export function countLines(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

/** The tool calls of a whole session. */
export function allCalls(logs: readonly AgentLog[]): ReturnType<typeof callsIn> {
  return logs.flatMap(({ events }) => callsIn(events))
}
