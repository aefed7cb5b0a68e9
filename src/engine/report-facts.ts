/** The facts of an agent that has ended, as every text and record about it has them. */
import type { ReportFacts } from '../definitions/report.ts'
import type { RefusedCall } from '../definitions/review/notes.ts'
import type { AgentEventOf } from '../machines/agent/events.ts'
import type { AgentId } from '../machines/ids.ts'
import type { EndedRun } from './agent.ts'

/** What is known of it besides the end of its run. */
export interface EndedAgent {
  readonly birth: AgentEventOf<'agent.spawned'>
  /** The task, where it is at hand: it stands in the call that gave it. */
  readonly prompt?: string
  readonly isOneShot: boolean
  readonly logPath: string
}

/** The facts of an end. */
export function reportFacts(
  { birth, prompt = '', isOneShot, logPath }: EndedAgent,
  end: EndedRun,
): ReportFacts {
  const { ended } = end
  return {
    agentId: birth.agentId,
    agentType: birth.plan.agentType,
    prompt,
    text: end.text,
    outcome: ended.outcome,
    usage: ended.usage,
    toolUses: ended.toolUses,
    durationMs: ended.durationMs,
    denials: ended.denials,
    worktreePath: ended.worktreePath,
    worktreeBranch: ended.worktreeBranch,
    refused: refusedOf(end, birth.agentId),
    review: end.review,
    isOneShot,
    logPath,
  }
}

/** What was refused to the agent itself. Of its descendants' refusals only some are known after a restart. */
function refusedOf({ denials }: EndedRun, id: AgentId): readonly RefusedCall[] {
  return denials
    .filter(({ agentId }) => agentId === id)
    .map(({ toolName, toolInput, reason }) => ({ toolName, input: toolInput, reason }))
}
