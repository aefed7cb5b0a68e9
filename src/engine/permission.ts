/** Asks the permission engine about one call, with what is in force for the agent at this moment. */
import type { Ceiling, PermissionPolicy, PermissionRequest } from '../definitions/permissions/decide.ts'
import { ceilingOf, decide } from '../definitions/permissions/decide.ts'
import { refusalMessage } from '../definitions/permissions/refusal-message.ts'
import { specifierKind } from '../definitions/permissions/rule.ts'
import { isInside, placePath } from '../effects/tools/confinement.ts'
import type { Tool } from '../effects/tools/tool.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'

/** Why the call must not run, in words for the model; undefined when it may. */
export async function permissionFor(
  core: EngineCore,
  agent: Agent,
  tool: Tool,
  input: unknown,
): Promise<string | undefined> {
  const request = await requestOf(agent, tool, input)
  const decision = decide(request, policyOf(core, agent))
  // Nobody can be asked yet: whatever wants approval is refused, with the rule that would allow it.
  return decision.decision === 'allow' ? undefined : refusalMessage(request, decision)
}

async function requestOf(agent: Agent, tool: Tool, input: unknown): Promise<PermissionRequest> {
  const { cwd } = agent
  const subject = tool.ruleSubject?.(input)
  const writesPath = tool.writes?.(input)
  const path = writesPath ?? (specifierKind(tool.name) === 'path' ? subject : undefined)
  return {
    toolName: tool.name,
    cwd,
    isReadOnly: tool.isReadOnly(input),
    isInsideCwd: path === undefined || (await leadsInside(cwd, path)),
    ...(subject !== undefined && { subject }),
    ...(writesPath !== undefined && { writesPath }),
  }
}

/** Whether a path lies in the folder with all links resolved. One that no file tool touches lies nowhere. */
async function leadsInside(cwd: string, path: string): Promise<boolean> {
  try {
    return isInside(cwd, (await placePath(path, cwd)).real)
  } catch {
    return false
  }
}

/** Own mode and rules, what its definition says, and the ceiling of every ancestor, read live along the chain. */
function policyOf(core: EngineCore, agent: Agent): PermissionPolicy {
  const { allow, deny } = core.rules
  const { only, deny: ownDeny } = agent.pool
  const ceilings: Ceiling[] = []
  for (let above = agent.parent; above !== undefined; above = above.parent) {
    ceilings.push(ceilingOf(above.id, { allow, deny, mode: above.birth.plan.mode.value, ceilings: [] }))
  }
  return { allow, deny: [...deny, ...ownDeny], only, mode: agent.birth.plan.mode.value, ceilings }
}
