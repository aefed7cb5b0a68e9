/**
 * An `Agent` call: a child is spawned, or found again after a restart, and its end becomes the call's result.
 *
 *   D1  The parent's `call.started` with the child's id and plan is durable before the child's file exists; the
 *       child's birth is durable before its first request.
 *   D2  The result line carries the key (child, run): it is the delivery, and there is no third fact to lose.
 *   D3  The child is in this call's hands: aborting the call kills it, and the call waits for its end. A child in the
 *       background is in nobody's: the call is over when its parent's log says that the end is owed.
 *   D4  Only a completed child gives a report. A failed or killed one is a tool error.
 *   D5  What a review found stands above the report, once; what the engine refused the child is listed by the engine.
 *       A child that was in the background when its call was stopped may owe its review: that is given up.
 */
import type { AgentInput } from '../../definitions/agent-tool.ts'
import { launchedText } from '../../definitions/notice.ts'
import type { ReportFacts } from '../../definitions/report.ts'
import { agentResultContent, agentStructuredResult, keptWorktreeNote } from '../../definitions/report.ts'
import type { SpawnPlan } from '../../definitions/spawn-situation.ts'
import type { AgentEventOf, RunKey } from '../../machines/agent/events.ts'
import type { ToolUseBlock } from '../../machines/agent/messages.ts'
import { isAmong } from '../../machines/agent/run-key.ts'
import type { AgentId, CallId } from '../../machines/ids.ts'
import type { Agent, EndedRun } from '../agent.ts'
import type { EngineCore } from '../core.ts'
import { loggedPlan } from '../logged-plan.ts'
import { reportFacts } from '../report-facts.ts'
import { withoutReview } from '../review/owed-reviews.ts'
import { reviveAgent } from '../revive.ts'
import type { Session } from '../session.ts'
import { sparedBy } from '../spares.ts'
import { ownResult } from '../tree-usage.ts'
import { failedResult, okResult } from './results.ts'
import type { Call } from './run-call.ts'
import { Suspended } from './suspended.ts'

type CallEnded = AgentEventOf<'call.ended'>
type Child = NonNullable<AgentEventOf<'call.started'>['child']>

const PARENT_STOPPED = 'its parent was stopped'

export async function delegate(core: EngineCore, call: Call, input: AgentInput): Promise<CallEnded> {
  const { agent, callId, block, signal, started } = call
  const { session } = agent
  let child: Child
  if (started?.child !== undefined) {
    child = started.child
    // Its log may not be there yet, and with it nobody who has asked for its definition.
    await session.definitions.recall(child.plan)
  } else {
    const routed = session.route(agent, input)
    if (routed.kind === 'refused') return failedResult(callId, block.id, routed.message)
    const { plan } = routed
    const agentId = core.ids.agentId()
    // In the directory before it is in the log: siblings that are routed meanwhile must count it.
    session.reserve(agent, agentId)
    if (plan.awaitMcp !== undefined) {
      const missing = await awaitServers(session, plan, signal)
      if (missing !== undefined) {
        session.forget(agentId)
        return failedResult(callId, block.id, missing)
      }
    }
    if (plan.name !== undefined) {
      const taken = await session.names.register(plan.name, agentId)
      if (taken.kind !== 'registered') session.forget(agentId)
      if (taken.kind === 'held') return failedResult(callId, block.id, nameTaken(plan.name, taken.by))
      if (taken.kind === 'late') throw new Suspended(`the name ${plan.name} came too late`)
    }
    const recording = session.definitions.record(plan.agentType)
    const definition = recording instanceof Promise ? await recording : recording
    child = { agentId, plan: placed(loggedPlan(plan, definition), agent, core) }
    for (const { code, message } of plan.notes ?? []) core.diagnose(code, message)
    const posted = await agent.post({ type: 'call.started', callId, child })
    if (posted === 'late') {
      session.forget(child.agentId)
      throw new Suspended(`call ${callId} came too late to be started`)
    }
  }
  const spawned = await session.spawn(agent, child.agentId, child.plan, {
    callId,
    toolUseId: block.id,
    prompt: input.prompt,
  })
  const end = await endOrBackground(core, spawned, agent, signal)
  if (end !== 'background') return delivered(agent, call, spawned, await withoutReview(core, spawned, end))
  await launch(agent, { agentId: spawned.id, run: spawned.runNumber })
  letGo(spawned)
  return launched(agent, call, spawned)
}

/**
 * A child that had ended before a restart was opened only for its result. One that ended in this process is gone
 * already, and may be back, with a run of its own.
 */
function letGo(child: Agent): void {
  if (!child.isStarted && child.session.isLive(child)) child.session.forget(child.id)
}

/** The agent is owed the end of a run in the background from now on. */
async function launch(agent: Agent, child: RunKey): Promise<void> {
  if (isAmong(agent.digest.owed, child)) return
  if ((await agent.post({ type: 'child.launched', child })) === 'late')
    throw new Suspended(`agent ${agent.id} could not be told of ${child.agentId}`)
}

/** The result of a call whose child works on in the background. */
function launched(agent: Agent, { callId, block }: Call, child: Agent): CallEnded {
  const { plan } = child.birth
  const { outputFile } = child
  return okResult(callId, block.id, [{ type: 'text', text: launchedText(child.id, outputFile) }], {
    status: 'async_launched',
    agentId: child.id,
    description: plan.description,
    prompt: promptOf(block.input),
    ...(outputFile !== undefined && {
      outputFile,
      canReadOutputFile: agent.mayUse('Read') || agent.mayUse('Bash'),
    }),
  })
}

/** A child works where its parent does; that must not change with the parent. */
function placed(plan: Child['plan'], { cwd }: Agent, core: EngineCore): Child['plan'] {
  return cwd === core.cwd || plan.cwd !== undefined || plan.isolation !== undefined ? plan : { ...plan, cwd }
}

const nameTaken = (name: string, holder: AgentId): string =>
  `The name "${name}" is that of agent ${holder}, which is at work. Send it a message with SendMessage, or call Agent again with another \`name\`.`

/** Waits for servers that a type cannot do without. What is missing, in words for the model; undefined: nothing. */
async function awaitServers(
  session: Session,
  { agentType }: SpawnPlan,
  signal: AbortSignal,
): Promise<string | undefined> {
  const mcp = await session.openMcp()
  const requiredMcpServers = session.definitions.named(agentType)?.requiredMcpServers ?? []
  const outcome = await mcp.waitFor({ agentType, requiredMcpServers }, signal)
  return outcome.kind === 'missing' ? outcome.message : undefined
}

/**
 * The result of a call whose child was left behind: its parent came to its own end before a restart, or before the end
 * of the child was another's to tell. Brings the child to its end, if nobody has done so meanwhile. Undefined when there
 * is no end to deliver: the child has never run, or its log cannot be written or read.
 */
export async function deliverLeftChild(
  core: EngineCore,
  agent: Agent,
  callId: CallId,
  block: ToolUseBlock,
  childId: AgentId,
): Promise<CallEnded | undefined> {
  const { session } = agent
  // Whoever has ended already, stopped by the user perhaps, is not live any more.
  const child = core.agents.get(childId) ?? (await reviveAgent(core, session, childId).catch(() => undefined))
  if (child === undefined) return undefined
  if (child.runNumber === 0) {
    session.forget(childId)
    return undefined
  }
  if (!child.isOpen || (child.isRunning && !session.isLive(child))) return undefined
  if (child.isStarted && child.isRunning)
    void child.kill(`agent ${agent.id}`, PARENT_STOPPED, sparedBy(agent)).catch(() => {})
  child.restart()
  try {
    const end = await withoutReview(core, child, await child.ended())
    return delivered(agent, { callId, block }, child, end)
  } catch (error) {
    // It was to be brought to its end, and that could not be written.
    if (child.failure === undefined) throw error
    return undefined
  }
}

/** The end of a child, unless it goes on in the background first: then it is in nobody's hands any more. */
async function endOrBackground(
  core: EngineCore,
  child: Agent,
  parent: Agent,
  signal: AbortSignal,
): Promise<EndedRun | 'background'> {
  const kill = async (): Promise<void> => {
    // The abort comes in the middle of the parent's step: what it leads to, and with it what is spared, is not there yet.
    await undefined
    await child.kill(`agent ${parent.id}`, PARENT_STOPPED, sparedBy(parent)).catch(() => {
      // The child's log cannot be written: `ended` below rejects with the reason.
    })
  }
  child.restart()
  // Also when it has ended already: its call is answered alike, whatever crash came in between.
  if (child.isInBackground && !signal.aborted) return 'background'
  if (signal.aborted) void kill()
  signal.addEventListener('abort', kill, { once: true })
  const cancelTimer = core.features.autoBackground ? backgroundInTime(core, child) : undefined
  try {
    const left = child.news.leftForeground().then(() => 'background' as const)
    const end = await Promise.race([left, child.ended()])
    // It was told to stop before it was out of these hands.
    return end === 'background' && signal.aborted ? await child.ended() : end
  } finally {
    cancelTimer?.()
    signal.removeEventListener('abort', kill)
  }
}

/** A child that takes long is moved to the background. Running time counts, whatever the number of restarts. */
function backgroundInTime({ clock, limits }: EngineCore, child: Agent): () => void {
  const rest = Math.max(0, limits.autoBackgroundMs - child.elapsedMs)
  return clock.setTimer(rest, () => {
    child.post({ type: 'agent.backgrounded', by: 'time' }).catch(() => {
      // The child's log cannot be written: whoever waits for its end is told.
    })
  })
}

function delivered(
  agent: Agent,
  { callId, block }: Pick<Call, 'callId' | 'block'>,
  child: Agent,
  end: EndedRun,
): CallEnded {
  const { ended } = end
  agent.session.budget.keep(child, ended.run, end.modelUsage)
  letGo(child)
  agent.notes.addApiTime(end.apiDurationMs)
  agent.addDenials(end.denials)
  const { birth, logPath } = child
  const maxChars = agent.session.limits.agentResultChars
  const key = { agentId: child.id, run: ended.run }
  const isOneShot = child.definition?.isOneShot === true
  const facts: ReportFacts = {
    canContinue: agent.mayUse('SendMessage'),
    ...reportFacts({ birth, prompt: promptOf(block.input), isOneShot, logPath }, end),
  }
  const structured = agentStructuredResult(facts, maxChars)
  switch (ended.status) {
    case 'completed':
      return {
        delivered: key,
        ...okResult(
          callId,
          block.id,
          [...agentResultContent(facts, maxChars)],
          ownResult({ modelUsage: end.modelUsage, ...structured }),
        ),
      }
    case 'failed':
    case 'killed':
      return {
        ...failedResult(
          callId,
          block.id,
          [endedBadly(child, ended), keptWorktreeNote(facts)].filter((text) => text !== undefined).join(' '),
          ended.status === 'killed' ? 'interrupted' : 'error',
        ),
        toolUseResult: { ...structured, status: ended.status, modelUsage: end.modelUsage },
        delivered: key,
      }
  }
}

/** From the call as the log has it: after a restart its schema may be another one. */
function promptOf(input: unknown): string {
  const hasPrompt = typeof input === 'object' && input !== null && 'prompt' in input
  return hasPrompt && typeof input.prompt === 'string' ? input.prompt : ''
}

function endedBadly(child: Agent, { outcome }: AgentEventOf<'agent.ended'>): string {
  const who = `The agent ${child.id} (${child.birth.plan.agentType}, "${child.birth.plan.description}")`
  switch (outcome.kind) {
    case 'failed':
      return (
        `${who} failed: ${outcome.fault.message}. ` +
        (outcome.fault.retryable
          ? 'It got no answer from its model in time; calling it again later may work.'
          : 'Calling it again in the same way will most likely fail again.')
      )
    case 'killed':
      return `${who} was stopped by ${outcome.by}${outcome.reason === undefined ? '' : `: ${outcome.reason}`}. It has no report.`
    default:
      return `${who} ended without a report.`
  }
}
