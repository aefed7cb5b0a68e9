/**
 * Questions of tools to the person: `AskUserQuestion`, `ExitPlanMode`, and tools of the host that ask.
 *
 *   Q1  Asked and answered are events of the agent: after a restart an answer is not asked for again, and a question
 *       without one is asked anew, under the same id.
 *   Q2  Each is answered once, by the host alone (law 12); an answer of another kind is an error of whoever gives it.
 *   Q3  An approved plan and the mode that follows from it are one write; what a crash tears of it is said at the resume.
 *   Q4  Only the root of a session asks. Where nobody answers, the tools that ask are not offered (`mayAsk`). An agent that
 *       was started in plan mode shows its plan to whoever started it (`plan-approval.ts`).
 *   Q5  The tools of a root that begins in plan mode, and can leave it, are all its tools from the start: the array, and
 *       with it the prompt cache, stays the same when the plan is approved. Until then permissions refuse what changes
 *       anything (D2), and the agent is told so before its task.
 */
import type { PermissionMode } from '../definitions/permission-mode.ts'
import type { Answer, AskPerson, Question } from '../effects/tools/ask-person.ts'
import { planAnswer, questionsAnswer } from '../effects/tools/ask-person.ts'
import { ToolRefusal } from '../effects/tools/tool-refusal.ts'
import type { AgentEventOf } from '../machines/agent/events.ts'
import type { AgentId, CallId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { QuestionAnswer, QuestionRequest } from './api.ts'
import type { EngineCore } from './core.ts'
import { record } from './effects/suspended.ts'
import { EngineError, messageOf } from './errors.ts'
import { notifyPerson } from './hooks/notification-hooks.ts'
import { lacksMode, modeAtStart, modeSaid } from './mode.ts'
import { mayLeavePlanBelow, showPlanAbove } from './plan-approval.ts'

const NONE: QuestionAnswer = { kind: 'none' }

/** Whether an agent can ask a person anything. */
export function mayAsk({ asking }: EngineCore, agent: Agent): boolean {
  const { answerQuestion, questionsWait } = asking
  return agent.parent === undefined && (answerQuestion !== undefined || questionsWait)
}

/** Whether the agent begins in plan mode and somebody can let it out. */
export function mayLeavePlan(core: EngineCore, agent: Agent): boolean {
  if (agent.parent !== undefined) return mayLeavePlanBelow(core, agent)
  return mayAsk(core, agent) && modeAtStart(core, agent) === 'plan'
}

/** Whether a tool that asks has nobody to ask, or nothing to ask for. */
export function asksNobody(core: EngineCore, agent: Agent, toolName: string): boolean {
  if (toolName === 'AskUserQuestion') return !mayAsk(core, agent)
  return toolName === 'ExitPlanMode' && !mayLeavePlan(core, agent)
}

/** Gives the one answer to a question. Throws an `EngineError`: `no-such-question`, `bad-answer`. */
export function answerQuestion(core: EngineCore, id: string, answer: QuestionAnswer, by: string): void {
  const request = core.questions.get(id)
  if (request === undefined)
    throw new EngineError(
      'no-such-question',
      `no call waits for an answer to the question ${id}: it was answered before, or its agent has ended`,
    )
  const problem = problemOf(request.question, answer)
  if (problem !== undefined)
    throw new EngineError('bad-answer', `the question ${id} was not answered: ${problem}. It still waits.`)
  core.questions.answer(id, answer, by)
}

function problemOf(question: Question, answer: QuestionAnswer): string | undefined {
  if (answer?.kind === 'none') return undefined
  if (answer?.kind !== question.kind)
    return `it takes an answer of kind "${question.kind}" or "none", not ${JSON.stringify(answer?.kind)}`
  try {
    if (question.kind === 'plan') planAnswer(answer)
    else questionsAnswer(answer)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** The port through which one call asks; undefined where nobody answers. */
export function askPort(core: EngineCore, agent: Agent, callId: CallId): AskPerson | undefined {
  let asked = 0
  if (agent.parent !== undefined)
    return mayLeavePlanBelow(core, agent)
      ? (question, signal) => showPlanAbove(core, agent, { callId, place: asked++, question }, signal)
      : undefined
  if (!mayAsk(core, agent)) return undefined
  return (question, signal) => ask(core, agent, { callId, place: asked++, question }, signal)
}

interface Asked {
  readonly callId: CallId
  readonly place: number
  readonly question: Question
}

async function ask(
  core: EngineCore,
  agent: Agent,
  { callId, place, question }: Asked,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const recorded = agent.ledger.question(callId, place)
  if (recorded?.answered !== undefined) {
    // Checked again by the tool: a log is a file.
    const answer = recorded.answered.answer as QuestionAnswer
    if (answer.kind === 'plan' && answer.approved && lacksMode(agent, recorded.answered))
      await record(agent, modeAfterPlan(core, agent, answer.mode, recorded.answered.by))
    return answerOf(answer)
  }
  if (question.kind === 'plan' && agent.mode !== 'plan')
    throw new ToolRefusal(
      `Plan mode is off (the permission mode is "${agent.mode}"), so no plan has to be approved. Go on with the task.`,
    )
  if (recorded === undefined)
    await record(agent, { type: 'question.asked', callId, place, about: question.kind })
  const request: QuestionRequest = {
    questionId: questionIdOf(agent.id, callId, place),
    sessionId: agent.session.id,
    agentId: agent.id,
    agentType: agent.birth.plan.agentType,
    question,
  }
  const waiting = core.questions.wait(request.questionId, request, signal)
  core.emit({ kind: 'question', request })
  askHost(core, request, signal)
  const isOver = notifyPerson(
    core,
    agent,
    {
      type: 'elicitation_dialog',
      which: `question ${place} ${callId}`,
      message: `${request.agentType} ${question.kind === 'plan' ? 'shows a plan that needs approval' : 'asks a question'}`,
    },
    signal,
  )
  const { answer, by } = await waiting
  isOver()
  await record(
    agent,
    { type: 'question.answered', callId, place, answer: { ...answer }, by },
    ...(answer.kind === 'plan' && answer.approved ? [modeAfterPlan(core, agent, answer.mode, by)] : []),
  )
  return answerOf(answer)
}

/** The name of a question: that of its call, which is unique for ever, and its place in it. */
const questionIdOf = (agentId: AgentId, callId: CallId, place: number): string =>
  `${agentId}:${callId}${place === 0 ? '' : `#${place}`}`

const answerOf = (answer: QuestionAnswer): Answer | undefined => (answer.kind === 'none' ? undefined : answer)

/**
 * The mode that follows an approved plan: what the person said with it, else the one that was given before plan, which
 * is `default` where the session began in plan. Nobody bypasses permissions where settings forbid it.
 */
function modeAfterPlan(
  core: EngineCore,
  agent: Agent,
  said: PermissionMode | undefined,
  by: string,
): AgentEventOf<'mode.changed'> {
  const given = core.root.mode
  const wanted = said ?? (given === 'plan' ? 'default' : given)
  return modeSaid(core, agent, wanted, by)
}

/** A callback of the host that fails has put the question away. */
function askHost(core: EngineCore, request: QuestionRequest, signal: AbortSignal): void {
  const { answerQuestion: callback } = core.asking
  if (callback === undefined) return
  const give = (answer: QuestionAnswer, by: string): void =>
    void core.questions.answer(request.questionId, answer, by)
  const put = async (): Promise<void> => {
    try {
      const answer = await callback(request, { signal })
      if (answer === undefined) return
      const problem = problemOf(request.question, answer)
      if (problem !== undefined) throw new Error(problem)
      give(answer, 'host')
    } catch (error) {
      const message = `the host could not answer a question of agent ${request.agentId}`
      core.diagnose('question-failed', `${message} (${messageOf(error)}); it was put away`)
      give(NONE, 'engine')
    }
  }
  void put()
}
