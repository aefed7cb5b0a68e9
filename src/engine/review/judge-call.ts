/**
 * What the classifier of `auto` mode makes of a call that is neither harmless nor allowed by a rule.
 *
 *   J1  It is asked once per call: the verdict is durable before it counts, and a resume of the call reads it.
 *   J2  It can allow what nobody forbids, refuse, or leave it to a person. It widens nothing: what rules and narrower
 *       modes say was said before.
 *   J3  Without a judgement the call is treated as where a person has to be asked.
 */
import { callQuestion } from '../../definitions/review/question.ts'
import type { Verdict } from '../../definitions/review/verdict.ts'
import type { Tool } from '../../effects/tools/tool.ts'
import type { EngineCore } from '../core.ts'
import type { Call } from '../effects/run-call.ts'
import { Suspended } from '../effects/suspended.ts'
import type { Permission } from '../permission.ts'
import { classify } from './classify.ts'
import { entriesOfRun, promptOf } from './material.ts'

/** The permission after the classifier has spoken; the same where it has no say. */
export async function withVerdict(
  core: EngineCore,
  call: Call,
  tool: Tool,
  input: unknown,
  permission: Permission,
): Promise<Permission> {
  if (permission.kind !== 'ask' || !permission.isForClassifier) return permission
  const verdict = call.agent.ledger.verdict(call.callId)?.verdict ?? (await judge(core, call, tool, input))
  switch (verdict.kind) {
    case 'allow':
      return { kind: 'allowed', ...(permission.judged !== undefined && { judged: permission.judged }) }
    case 'block':
      return { kind: 'refused', message: refusalOf(tool.name, verdict.reason) }
    case 'flag':
      return {
        ...permission,
        reason: `the classifier of permission mode "auto" leaves it to a person: ${verdict.reason}`,
      }
    case 'unavailable':
      return { ...permission, reason: `permission mode "auto" could not have it judged: ${verdict.why}` }
  }
}

async function judge(core: EngineCore, call: Call, tool: Tool, input: unknown): Promise<Verdict> {
  const { agent, callId, signal } = call
  const prompt = promptOf(entriesOfRun(await agent.conversation.load()))
  const judgement = await classify(
    core,
    agent,
    (userWords) =>
      callQuestion({
        agentType: agent.birth.plan.agentType,
        userWords,
        ...(prompt?.isOfUser === false && { task: prompt.text }),
        cwd: agent.cwd,
        toolName: tool.name,
        input,
      }),
    signal,
    callId,
  )
  try {
    if ((await agent.post({ type: 'call.classified', callId, ...judgement })) === 'late')
      throw new Suspended(`the verdict on call ${callId} came too late`)
  } finally {
    agent.session.budget.release(agent.id, callId)
  }
  return judgement.verdict
}

const refusalOf = (toolName: string, reason: string): string =>
  `${toolName} was refused: the classifier of permission mode "auto" judged that it must not run (${reason}). ` +
  'Do not try to reach the same end by another way: go on with what is allowed, or say in your report what you could not do.'
