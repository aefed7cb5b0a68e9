/**
 * Agents as one of them may speak of and to the others.
 *
 *   A1  Whoever has ended is reached all the same: its next run begins with the message and everything that it knew.
 *   A2  A message is sent once per key: the recipient's own log knows the last one of each sender.
 *   A3  Only what an agent has started, and what that has started, can be stopped by it.
 */
import { agentResultContent, agentStructuredResult } from '../definitions/report.ts'
import { sleep } from '../effects/clock.ts'
import type { AgentsPort, SendReceipt, TaskAnswer, TaskStatus } from '../effects/tools/agents/agents-port.ts'
import { unknownAgent } from '../effects/tools/agents/words.ts'
import type { RunKey } from '../machines/agent/events.ts'
import { isAmong } from '../machines/agent/run-key.ts'
import { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import { askParent } from './ask-above.ts'
import type { EngineCore } from './core.ts'
import { deliver } from './deliver.ts'
import { EngineError } from './errors.ts'
import { sendStructured } from './structured-messages.ts'
import { addressee, isBelow, notBelow, statusOf } from './task-status.ts'
import { orAborted } from './waits.ts'

type Refused = Extract<SendReceipt, { kind: 'refused' }>

/** The port of one call. `signal` ends what it waits for. */
export function agentsPort(core: EngineCore, caller: Agent, signal: AbortSignal): AgentsPort {
  const { session } = caller
  const others = (): readonly TaskStatus[] =>
    session.agents.filter((agent) => agent !== caller && agent.isBorn).map(statusOf)

  const unknown: TaskAnswer = {
    kind: 'unknown',
    get known() {
      return others()
    },
  }

  const result = async (taskId: string, timeoutMs: number): Promise<TaskAnswer> => {
    const id = AgentId.safeParse(taskId)
    if (!id.success || id.data === caller.id) return unknown
    const live = core.agents.get(id.data)
    if (live?.isRunning === true) {
      if (timeoutMs > 0) await unlessGivenUp(live, within(core, live, timeoutMs, signal), signal)
      if (live.isRunning && session.isLive(live)) return { kind: 'going-on', task: statusOf(live) }
    }
    return report(id.data)
  }

  const report = async (id: AgentId): Promise<TaskAnswer> => {
    // What it is owed comes first, oldest first; else the last end there is.
    const owed = caller.digest.owed.find(({ agentId }) => agentId === id)
    const state = owed === undefined ? undefined : await session.ends.stateOf(owed)
    if (state?.kind === 'lost') return { kind: 'refused', message: `Agent ${id} is lost: ${state.why}` }
    const isThere = state?.kind === 'ended' || state?.kind === 'unreviewed'
    const found = isThere ? state.end : await session.ends.lastOf(id)
    if (found === undefined) return unknown
    const { task, end } = await session.ends.reviewed(found, signal)
    const key: RunKey = { agentId: id, run: end.ended.run }
    const isOwed = isAmong(caller.digest.owed, key) && !session.hosts.isHeldBelow(caller, key)
    const maxChars = core.limits.agentResultChars
    return {
      kind: 'ended',
      status: end.ended.status,
      text: agentResultContent({ ...task, isOneShot: false }, maxChars)
        .map(({ text }) => text)
        .join('\n\n'),
      structured: {
        retrieval_status: 'success',
        task: { ...agentStructuredResult(task, maxChars), status: end.ended.status },
        modelUsage: end.modelUsage,
      },
      delivered: isOwed ? { agentId: id, run: end.ended.run } : undefined,
    }
  }

  const stop = async (taskId: string): Promise<TaskAnswer> => {
    const id = AgentId.safeParse(taskId)
    const live = id.success ? core.agents.get(id.data) : undefined
    if (live?.isRunning !== true) return result(taskId, 0)
    if (!isBelow(live, caller)) return { kind: 'refused', message: notBelow(taskId) }
    await unlessGivenUp(live, live.kill(`agent ${caller.id}`), signal)
    return report(live.id)
  }

  const send = async <R extends { readonly kind: 'sent' }>(
    to: string,
    work: (id: AgentId) => Promise<R | Refused>,
  ): Promise<R | Refused> => {
    const id = addressee(caller, to)
    if (id === undefined) return { kind: 'refused', message: unknownAgent(to, others()) }
    if (id === caller.id)
      return { kind: 'refused', message: 'That is you. A message needs another agent to read it.' }
    try {
      return await work(id)
    } catch (error) {
      if (EngineError.is(error) && error.code === 'no-such-agent')
        return { kind: 'refused', message: unknownAgent(to, others()) }
      throw error
    }
  }

  const broadcast = (text: string, key: string): Promise<readonly SendReceipt[]> => {
    const atWork = session.agents.filter((agent) => agent !== caller && agent.isBorn && agent.isRunning)
    return Promise.all(
      atWork.map(({ id }) => session.inTurn(id, () => deliver(core, caller, id, { text, key }, signal))),
    )
  }

  return {
    broadcast,
    list: others,
    result,
    stop,
    send: (to, text, key) =>
      send(to, (id) => session.inTurn(id, () => deliver(core, caller, id, { text, key }, signal))),
    sendStructured: (to, message, key) =>
      send(to, (id) => sendStructured(core, caller, { id, message, key }, signal)),
    ask: (question, key) => askParent(core, caller, question, key, signal),
  }
}

/** Resolves with the end of a run, or when the time is over. */
async function within(core: EngineCore, agent: Agent, ms: number, signal: AbortSignal): Promise<void> {
  const timer = new AbortController()
  const onAbort = (): void => timer.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.race([agent.ended(), sleep(core.clock, ms, timer.signal)])
  } finally {
    signal.removeEventListener('abort', onAbort)
    timer.abort()
  }
  signal.throwIfAborted()
}

/** Waits for work on an agent. One whose log cannot be written has no end: then until it has given its place back. */
async function unlessGivenUp(agent: Agent, work: Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await work
  } catch (error) {
    if (agent.failure === undefined) throw error
    await orAborted(agent.session.givenUp.left(agent), signal)
  }
}
