/**
 * Agents as one of them may speak of and to the others.
 *
 *   A1  Whoever has ended is reached all the same: its next run begins with the message and everything that it knew.
 *   A2  A message is sent once per key: the recipient's own log knows the last one of each sender.
 *   A3  Only what an agent has started, and what that has started, can be stopped by it.
 */
import { inert } from '../definitions/context/envelope.ts'
import { messageText, questionText } from '../definitions/notice.ts'
import { agentResultContent, agentStructuredResult } from '../definitions/report.ts'
import { sleep } from '../effects/clock.ts'
import type {
  AgentsPort,
  ParentAnswer,
  SendReceipt,
  TaskAnswer,
  TaskStatus,
} from '../effects/tools/agents/agents-port.ts'
import { unknownAgent } from '../effects/tools/agents/words.ts'
import { hasChoice } from '../machines/agent/context.ts'
import type { RunKey } from '../machines/agent/events.ts'
import { isAmong } from '../machines/agent/run-key.ts'
import { AgentId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import { Suspended } from './effects/suspended.ts'
import { EngineError } from './errors.ts'
import { settleReview } from './review/owed-reviews.ts'
import { reviveAgent } from './revive.ts'
import { nextMacrotask, orAborted } from './waits.ts'
import { worktreeView } from './worktree/own-worktree.ts'

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
    if (!isBelow(live, caller))
      return {
        kind: 'refused',
        message: `Agent ${taskId} is none that you have started, so you cannot stop it.`,
      }
    await unlessGivenUp(live, live.kill(`agent ${caller.id}`), signal)
    return report(live.id)
  }

  const send = async (to: string, text: string, key: string): Promise<SendReceipt> => {
    const id = addressee(caller, to)
    if (id === undefined) return { kind: 'refused', message: unknownAgent(to, others()) }
    if (id === caller.id)
      return { kind: 'refused', message: 'That is you. A message needs another agent to read it.' }
    try {
      return await session.inTurn(id, () => deliver(core, caller, id, text, key, signal))
    } catch (error) {
      if (EngineError.is(error) && error.code === 'no-such-agent')
        return { kind: 'refused', message: unknownAgent(to, others()) }
      throw error
    }
  }

  const broadcast = (text: string, key: string): Promise<readonly SendReceipt[]> => {
    const atWork = session.agents.filter((agent) => agent !== caller && agent.isBorn && agent.isRunning)
    return Promise.all(
      atWork.map(({ id }) => session.inTurn(id, () => deliver(core, caller, id, text, key, signal))),
    )
  }

  return {
    broadcast,
    list: others,
    result,
    stop,
    send,
    ask: (question, key) => askParent(core, caller, question, key, signal),
  }
}

/**
 * Asks the agent above and waits for its next message. A parent that waits for the caller could not answer: the caller
 * goes to the background first, and its parent has its call back.
 */
async function askParent(
  core: EngineCore,
  caller: Agent,
  question: string,
  key: string,
  signal: AbortSignal,
): Promise<ParentAnswer> {
  const { parent, session } = caller
  if (parent === undefined)
    return { kind: 'unanswered', why: 'Nobody has started you, so there is nobody to ask.' }
  if (!caller.isInBackground) await caller.post({ type: 'agent.backgrounded', by: 'its question' })
  const text = questionText({ from: caller.id, fromType: caller.birth.plan.agentType, text: question })
  const receipt = await session.inTurn(parent.id, () => deliver(core, caller, parent.id, text, key, signal))
  if (receipt.kind === 'refused') return { kind: 'unanswered', why: receipt.message }
  while (true) {
    const arrived = caller.news.next()
    const answer = caller.digest.mail.find(
      ({ origin }) => origin.from === 'agent' && origin.agentId === parent.id,
    )
    if (answer !== undefined)
      return { kind: 'answered', text: inert(answer.content), messageId: answer.messageId }
    if (!parent.isRunning) return { kind: 'unanswered', why: 'Whoever started you has come to its end.' }
    // A parent that can go on no more rejects; the caller is stopped with it.
    const ended = parent.nextEnd().then(
      () => {},
      () => {},
    )
    await orAborted(Promise.race([arrived, ended]), signal)
  }
}

/** An agent as others see it. */
export function statusOf(agent: Agent): TaskStatus {
  const { plan, parent } = agent.birth
  const context = agent.run?.snapshot.context
  const worktree = worktreeView(agent.digest.worktree)
  return {
    taskId: agent.id,
    ...(plan.name !== undefined && { name: plan.name }),
    agentType: plan.agentType,
    description: plan.description,
    status: agent.isRunning
      ? agent.phase$.value === 'waiting'
        ? 'waiting'
        : 'running'
      : (agent.digest.ended?.status ?? 'suspended'),
    isBackgrounded: agent.isInBackground,
    turns: context?.turns ?? 0,
    toolUses: context?.toolUses ?? 0,
    tokens: agent.digest.task.tokenCount,
    lastActivities: agent.digest.task.activities,
    ...(agent.digest.task.summary !== undefined && { summary: agent.digest.task.summary }),
    pendingMessages: agent.digest.mail.length,
    ...(worktree !== undefined && { worktreePath: worktree.path }),
    ...(worktree?.branch !== undefined && { worktreeBranch: worktree.branch }),
    parentId: parent?.agentId,
  }
}

function isBelow(agent: Agent, upper: Agent): boolean {
  for (let above = agent.parent; above !== undefined; above = above.parent)
    if (above.id === upper.id) return true
  return false
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

function addressee(caller: Agent, to: string): AgentId | undefined {
  if (to === 'parent') return caller.parent?.id
  if (to === 'main') return caller.session.root.id
  const id = AgentId.safeParse(to)
  return id.success ? id.data : caller.session.names.holderOf(to)
}

async function deliver(
  core: EngineCore,
  sender: Agent,
  id: AgentId,
  text: string,
  key: string,
  signal: AbortSignal,
): Promise<SendReceipt> {
  const { session } = sender
  const recipient = await reviveAgent(core, session, id)
  // Sent before a crash.
  if (recipient.digest.hasMessage(key))
    return { kind: 'sent', to: statusOf(recipient), how: recipient.isRunning ? 'queued' : 'started' }
  while (recipient.isOpen) {
    // Who was stopped meanwhile has nothing to say any more.
    signal.throwIfAborted()
    if (recipient.isRunning) {
      if (!session.isLive(recipient))
        return {
          kind: 'refused',
          message: `Agent ${id} was cut off in the middle of its work; it reads nothing.`,
        }
      if (recipient.digest.mail.length >= core.limits.messages)
        return {
          kind: 'refused',
          message: `Agent ${id} has ${recipient.digest.mail.length} messages waiting (setting limits.messages). Wait until it has read some.`,
        }
      const origin = { from: 'agent', agentId: sender.id } as const
      const posted = await recipient.post({ type: 'message.accepted', messageId: key, content: text, origin })
      if (posted === 'taken') return { kind: 'sent', to: statusOf(recipient), how: 'queued' }
      // It is coming to its end: the message begins its next run.
      if (recipient.isRunning) await orAborted(recipient.nextEnd(), signal)
      continue
    }
    if (recipient.parent !== undefined && session.isLive(recipient)) {
      // It had ended before a restart, and the call that it was started by has yet to hand its report on.
      await nextMacrotask()
      continue
    }
    const refusal = startRefusal(core, recipient)
    if (refusal !== undefined) return { kind: 'refused', message: refusal }
    // Its next run begins behind the verdict on the last one.
    await settleReview(core, recipient, signal)
    const fromType = sender.birth.plan.agentType
    const content = messageText({ from: sender.id, fromType, fromName: sender.birth.plan.name, text })
    if ((await session.startAgain(recipient, content, sender, key)) === 'taken')
      return { kind: 'sent', to: statusOf(recipient), how: 'started' }
    // Somebody else has begun its run; or the engine closes, and the call is made again when it is resumed.
    if (!recipient.isRunning) throw new Suspended(`agent ${id} was not started: the engine closes`)
  }
  return { kind: 'refused', message: `Agent ${id} takes no messages any more.` }
}

/** Why an agent that has ended may not go on. */
function startRefusal({ limits }: EngineCore, { session, parent, id, digest }: Agent): string | undefined {
  if (parent === undefined) {
    const outcome = digest.ended?.outcome
    return outcome !== undefined && !hasChoice(outcome)
      ? 'The main agent has stopped; it reads nothing before the user speaks to it again.'
      : undefined
  }
  return session.agents.length >= limits.liveAgents
    ? `Agent ${id} has ended, and ${session.agents.length} agents are at work, which is the limit (setting limits.liveAgents). Wait for one to end.`
    : undefined
}
