/** A run as its caller holds it. */
import type { Observable } from 'rxjs'
import { defer, EMPTY, filter, from, switchMap } from 'rxjs'
import type { Phase } from '../machines/agent/accepts.ts'
import type { AgentId, SessionId } from '../machines/ids.ts'
import type { Agent, EndedRun } from './agent.ts'
import type { EngineEvent, Run, RunResult } from './api.ts'
import { totalOf } from './tree-usage.ts'

type Fact = Extract<EngineEvent, { kind: 'fact' }>

/** What is known of a run at once, and what comes. */
export interface RunParts {
  readonly sessionId: SessionId
  /** The agent, when its run has been recorded as started; rejects when it cannot start. */
  readonly started: Promise<Agent>
  readonly end: Promise<EndedRun>
  readonly events$: Observable<EngineEvent>
}

/** Makes the handle. */
export function createRun({ sessionId, started, end, events$ }: RunParts): Run {
  const agentId = started.then((agent) => agent.id)
  const result = Promise.all([agentId, end]).then(([id, ended]) => toResult(sessionId, id, ended))
  // A caller that only iterates, or only waits for one of them, must not be punished with an unhandled rejection.
  for (const promise of [agentId, result]) promise.catch(() => {})
  const ofAgent = <T>(pick: (agent: Agent) => Observable<T>): Observable<T> =>
    defer(() => from(started.catch(() => undefined))).pipe(
      switchMap((agent) => (agent === undefined ? EMPTY : pick(agent))),
    )
  return {
    sessionId,
    started: agentId,
    result,
    deltas$: ofAgent((agent) => agent.deltas$),
    state$: ofAgent((agent) => agent.phase$).pipe(filter((phase): phase is Phase => phase !== 'idle')),
    [Symbol.asyncIterator]: () => iterateFacts(sessionId, events$, result),
  }
}

/** The facts of the whole session until the run ends. Buffers what is not read yet, from this call on. */
async function* iterateFacts(
  sessionId: SessionId,
  events$: Observable<EngineEvent>,
  result: Promise<RunResult>,
): AsyncGenerator<Fact, void, void> {
  const buffer: Fact[] = []
  let wake = () => {}
  let isOver = false
  const subscription = events$.subscribe((event) => {
    if (event.kind !== 'fact' || event.sessionId !== sessionId) return
    buffer.push(event)
    wake()
  })
  const finish = () => {
    isOver = true
    wake()
  }
  result.then(finish, finish)
  try {
    while (true) {
      const next = buffer.shift()
      if (next !== undefined) yield next
      else if (isOver) break
      else
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
    await result
  } finally {
    subscription.unsubscribe()
  }
}

function toResult(sessionId: SessionId, agentId: AgentId, end: EndedRun): RunResult {
  const { ended } = end
  return {
    sessionId,
    agentId,
    run: ended.run,
    status: ended.status,
    outcome: ended.outcome,
    text: end.text,
    stopReason: end.stopReason,
    turns: ended.turns,
    toolUses: ended.toolUses,
    usage: ended.usage,
    totalUsage: totalOf(end.modelUsage),
    modelUsage: end.modelUsage,
    durationMs: ended.durationMs,
    apiDurationMs: end.apiDurationMs,
    denials: end.denials,
    ...(ended.worktreePath !== undefined && { worktreePath: ended.worktreePath }),
    ...(ended.worktreeBranch !== undefined && { worktreeBranch: ended.worktreeBranch }),
    ...(ended.outcome.kind === 'failed' && { fault: ended.outcome.fault }),
  }
}
