/**
 * Calls that wait for somebody's word.
 *
 *   P1  Asked and answered are events of the agent: after a restart an answer is not asked for again, and a question
 *       without one is asked anew, under the same id.
 *   P2  Each is answered once: the first answer counts, a later one is an error of whoever gives it.
 *   P3  Answers come from the host alone; no text of an agent, a tool or a file reaches this.
 */
import type { AgentEventOf } from '../machines/agent/events.ts'
import type { AgentId, CallId } from '../machines/ids.ts'
import type { Agent } from './agent.ts'
import type { ApprovalAnswer, ApprovalRequest } from './api.ts'
import type { EngineCore } from './core.ts'
import { refuseForTime } from './deadline.ts'
import { record } from './effects/suspended.ts'
import { EngineError, messageOf } from './errors.ts'
import { grant, grantScopeOf } from './grants.ts'
import { notifyPerson } from './hooks/notification-hooks.ts'
import type { WaitingAnswers } from './waiting-answers.ts'

type Answered = AgentEventOf<'approval.answered'>

/** The approvals of an engine that wait for an answer. */
export type Approvals = WaitingAnswers<ApprovalRequest, ApprovalAnswer>

/** Gives the one answer. Throws an `EngineError` (`no-such-approval`) when nobody waits for it. */
export function answerApproval(core: EngineCore, id: string, answer: ApprovalAnswer, by: string): void {
  if (!core.approvals.answer(id, answer, by))
    throw new EngineError(
      'no-such-approval',
      `no call waits for the approval ${id}: it was answered before, or its agent has ended`,
    )
}

/** The name of an approval: that of its call, which is unique for ever. */
export const approvalIdOf = (agentId: AgentId, callId: CallId): string => `${agentId}:${callId}`

/** What is asked for one call. */
export interface Question {
  readonly toolName: string
  readonly toolUseId: string
  readonly input: unknown
  readonly reason: string
  /** The narrowest rules that together would allow it; none where no rule would. */
  readonly suggestions: readonly string[]
}

/**
 * The answer to a call that needs approval: the one in the log, or a new one. Undefined when nobody can be asked.
 * Rejects with `Suspended` when the agent has moved on.
 */
export async function approvalFor(
  core: EngineCore,
  agent: Agent,
  callId: CallId,
  question: Question,
  signal: AbortSignal,
): Promise<Answered | undefined> {
  const recorded = agent.ledger.approval(callId)
  if (recorded?.answered !== undefined) return recorded.answered
  const { canUseTool, mayWait } = core.asking
  if (canUseTool === undefined && !mayWait) return undefined
  if (recorded === undefined)
    await record(agent, { type: 'approval.requested', callId, reason: question.reason })
  const request: ApprovalRequest = {
    approvalId: approvalIdOf(agent.id, callId),
    sessionId: agent.session.id,
    agentId: agent.id,
    agentType: agent.birth.plan.agentType,
    ...question,
    grantScope: grantScopeOf(agent),
  }
  const waiting = core.approvals.wait(request.approvalId, request, signal)
  core.emit({ kind: 'approval', request })
  if (agent.isOutOfTime) refuseForTime(core, request.approvalId)
  else if (canUseTool !== undefined) askHost(core, canUseTool, request, signal)
  const isOver = notifyPerson(
    core,
    agent,
    {
      type: 'permission_prompt',
      which: `approval ${callId}`,
      message: `${request.agentType} needs approval to use ${request.toolName}`,
    },
    signal,
  )
  const { answer, by } = await waiting
  isOver()
  const answered: Answered = {
    type: 'approval.answered',
    callId,
    decision: answer.decision,
    by,
    ...(answer.decision === 'deny' && answer.message !== undefined && { message: answer.message }),
    ...(answer.decision === 'allow' && answer.input !== undefined && { input: answer.input }),
  }
  await record(agent, answered)
  if (answer.decision === 'allow' && answer.always === true) await grant(agent, question.suggestions, by)
  return answered
}

/** A callback of the host that fails has said no: nothing runs because an answer got lost. */
function askHost(
  core: EngineCore,
  canUseTool: NonNullable<EngineCore['asking']['canUseTool']>,
  request: ApprovalRequest,
  signal: AbortSignal,
): void {
  // Somebody may be faster, or the agent may have ended.
  const give = (answer: ApprovalAnswer, by: string): void =>
    void core.approvals.answer(request.approvalId, answer, by)
  const ask = async (): Promise<void> => {
    try {
      const answer = await canUseTool(request, { signal })
      if (answer !== undefined) give(answer, 'host')
    } catch (error) {
      const message = `the host could not decide (${messageOf(error)})`
      core.diagnose('approval-failed', `${request.toolName} of agent ${request.agentId}: ${message}`)
      give({ decision: 'deny', message }, 'engine')
    }
  }
  void ask()
}
