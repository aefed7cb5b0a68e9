/**
 * Plans of agents that another one has started: whoever started them approves, as a person does for the main agent.
 *
 *   L1  Who may leave plan mode was put there by its definition (`permissionMode: plan`), which names `ExitPlanMode` among
 *       its tools. For all others plan mode is a bound, and no agent lifts it.
 *   L2  Approved, the agent has at most the mode that its parent has at that moment; and whatever its mode is, every
 *       ancestor's is a ceiling of each call (law 6). Who plans itself approves no plan.
 *   L3  Approval is a message of its own kind from the parent, never text (law 12): any other message only ends the wait.
 *   L4  The answer, the mode that follows and that the message was read are in the log before the agent goes on: a restart
 *       asks nobody twice. The mode holds for the run in which the plan was approved.
 */
import type { AgentDefinition } from '../definitions/agent-definition.ts'
import { PermissionMode } from '../definitions/permission-mode.ts'
import { readToolEntries } from '../definitions/tool-entries.ts'
import { isSameTool } from '../definitions/tool-names.ts'
import type { Answer, Question } from '../effects/tools/ask-person.ts'
import { ToolRefusal } from '../effects/tools/tool-refusal.ts'
import type { AgentEventOf } from '../machines/agent/events.ts'
import { CallId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import { askAbove, wordFor } from './ask-above.ts'
import type { EngineCore } from './core.ts'
import { record } from './effects/suspended.ts'
import { lacksMode, modeAtStart } from './mode.ts'
import { modeInForce } from './permission.ts'

const TOOL = 'ExitPlanMode'
/** The rule of a plan whose mode is its parent's. */
const BY_PARENT = 'parent'

/** Whether an agent that was started by another begins in plan mode, and that one can let it out (L1). */
export function mayLeavePlanBelow(core: EngineCore, agent: Agent): boolean {
  const { parent, definition } = agent
  if (parent === undefined || agent.isFork || definition === undefined) return false
  if (modeAtStart(core, agent) !== 'plan' || core.tools.find(TOOL) === undefined) return false
  const { permissionMode, tools, disallowedTools } = definition
  const isMeant = permissionMode === 'plan' && names(tools, definition) && !names(disallowedTools, definition)
  // Its parent was planning, too: then the person's word on that is the one that counts.
  const isInherited = agent.birth.plan.mode.rule === BY_PARENT
  return isMeant && !isInherited && (hadWayOut(agent) ?? parent.mayUse('SendMessage'))
}

/**
 * Whether it was offered at its beginning: then it stays, although behind a restart whoever could approve may be at its
 * end, and is not asked with anything.
 */
const hadWayOut = (agent: Agent): boolean | undefined =>
  agent.prepared !== undefined && agent.digest.prepared !== undefined ? agent.mayUse(TOOL) : undefined

/** Whether a list of a definition names the tool itself, not only by a star. */
function names(entries: readonly string[] | undefined, { agentType }: AgentDefinition): boolean {
  return readToolEntries(entries ?? [], 'tools', agentType).entries.some(
    ({ toolName, specifier }) => specifier === undefined && isSameTool(toolName, TOOL),
  )
}

/** What an agent whose plan is shown waits for, by the id of the request: its key. */
const requestIdOf = (agent: Agent, callId: CallId): string => `${agent.id}:${callId}`

/** Shows the plan of a call to the agent above, and waits for its answer. Undefined: it was put away before. */
export async function showPlanAbove(
  core: EngineCore,
  agent: Agent,
  {
    callId,
    place,
    question,
  }: { readonly callId: CallId; readonly place: number; readonly question: Question },
  signal: AbortSignal,
): Promise<(Answer & { readonly messageId?: string }) | undefined> {
  const recorded = agent.ledger.question(callId, place)
  if (recorded?.answered !== undefined) {
    const mode = PermissionMode.safeParse(recorded.answered.answer['mode'])
    if (mode.success && lacksMode(agent, recorded.answered))
      await record(agent, modeFrom(core, agent, mode.data, recorded.answered.by))
    return recordedAnswer(recorded.answered)
  }
  if (question.kind !== 'plan') throw new ToolRefusal('There is nobody here who could answer.')
  if (agent.mode !== 'plan')
    throw new ToolRefusal(
      `Plan mode is off (the permission mode is "${agent.mode}"), so no plan has to be approved. Go on with the task.`,
    )
  if (recorded === undefined) {
    // It would pass for a word on the plan.
    if (agent.parent !== undefined && wordFor(agent, agent.parent) !== undefined)
      throw new ToolRefusal(
        'A message has come that you have not read: it stands in front of your next step. Show your plan after it.',
      )
    await record(agent, { type: 'question.asked', callId, place, about: 'plan' })
  }
  const key = requestIdOf(agent, callId)
  const letter = { text: question.plan, key, means: { kind: 'plan_approval_request' } as const }
  const word = await askAbove(core, agent, letter, 'its plan', signal)
  const message = word.kind === 'message' ? word.message : undefined
  const means = message?.means
  if (message === undefined || means?.kind !== 'plan_approval_response' || means.requestId !== key) {
    await record(agent, { type: 'question.answered', callId, place, answer: { kind: 'none' }, by: 'engine' })
    const why = word.kind === 'none' ? word.why : 'A message came in place of an answer: read it first.'
    throw new ToolRefusal(`${why} The plan is not approved, and plan mode stays on.`)
  }
  const by = `agent ${agent.parent?.id ?? ''}`
  const answered: AgentEventOf<'question.answered'> = {
    type: 'question.answered',
    callId,
    place,
    answer: {
      kind: 'plan',
      approved: means.approve,
      ...(means.mode !== undefined && { mode: means.mode }),
      ...(!means.approve && message.content !== '' && { feedback: message.content }),
    },
    by,
    messageId: message.messageId,
  }
  await record(
    agent,
    answered,
    ...(means.approve && means.mode !== undefined ? [modeFrom(core, agent, means.mode, by)] : []),
  )
  return recordedAnswer(answered)
}

function recordedAnswer({
  answer,
  messageId,
}: AgentEventOf<'question.answered'>): (Answer & { readonly messageId?: string }) | undefined {
  if (answer.kind === 'none') return undefined
  // Checked again by the tool: a log is a file. The mode is the engine's, which may be one that no person can say.
  const { mode: _, ...plain } = answer
  const plan = plain as unknown as Answer
  return typeof messageId === 'string' ? { ...plan, messageId } : plan
}

const modeFrom = (
  core: EngineCore,
  agent: Agent,
  mode: PermissionMode,
  by: string,
): AgentEventOf<'mode.changed'> => ({
  type: 'mode.changed',
  from: agent.mode,
  mode,
  given: core.root.mode,
  by,
})

/** Whether a plan of that request waits for the answer of `caller`; else why not, in words for a model. */
export function planShownIn(caller: Agent, planner: Agent, requestId: string): 'open' | string {
  const none = `There is no plan with the request id ${JSON.stringify(requestId)} that waits for your answer.`
  if (planner.parent?.id !== caller.id) return `${none} Agent ${planner.id} was not started by you.`
  const [, callPart] = requestId.split(':')
  const callId = CallId.safeParse(callPart)
  const isIts = callId.success && requestIdOf(planner, callId.data) === requestId
  const question = isIts && planner.isRunning ? planner.ledger.question(callId.data, 0) : undefined
  if (question?.asked.about !== 'plan' || question.answered !== undefined) return none
  const { digest } = caller
  const isUnread = digest.mail.some(({ messageId }) => messageId === requestId)
  if (isUnread || !digest.hasMessage(requestId)) return `${none} You have not read it yet.`
  const isAnswered = planner.digest.mail.some(
    ({ means }) => means?.kind === 'plan_approval_response' && means.requestId === requestId,
  )
  return isAnswered ? `${none} You have answered it already.` : 'open'
}

/** What an answer comes to; a text: why it may not be given. */
export function planVerdict(
  core: EngineCore,
  caller: Agent,
  approve: boolean,
): { readonly approve: boolean; readonly mode?: PermissionMode } | string {
  if (!approve) return { approve }
  if (modeInForce(core, caller) === 'plan')
    return 'You are in plan mode yourself, so you cannot approve a plan: an agent gains nothing that whoever started it has not. Answer with approve false, or end your turn with the plan.'
  return { approve, mode: modeInForce(core, caller) }
}
