/** Asks the permission engine about one call, with what is in force for the agent at this moment. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Ceiling, PermissionPolicy, PermissionRequest } from '../definitions/permissions/decide.ts'
import { ceilingOf, decide } from '../definitions/permissions/decide.ts'
import { refusalMessage } from '../definitions/permissions/refusal-message.ts'
import { specifierKind } from '../definitions/permissions/rule.ts'
import { isInside, placePath } from '../effects/tools/confinement.ts'
import type { Tool } from '../effects/tools/tool.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import { ROOT_TYPE } from './root.ts'

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
  const resolvedPath = path === undefined ? undefined : await realPathOf(cwd, path)
  return {
    toolName: tool.name,
    cwd,
    home: homedir(),
    isReadOnly: tool.isReadOnly(input),
    isInsideCwd:
      path === undefined ||
      (resolvedPath !== undefined &&
        isInside(cwd, resolvedPath) &&
        !(writesPath !== undefined && isProtected(cwd, resolvedPath))),
    ...(subject !== undefined && { subject }),
    ...(writesPath !== undefined && { writesPath }),
    ...(resolvedPath !== undefined && { resolvedPath }),
  }
}

/** Where a path leads with all links resolved; undefined for one that no file tool touches. */
async function realPathOf(cwd: string, path: string): Promise<string | undefined> {
  try {
    return (await placePath(path, cwd)).real
  } catch {
    return undefined
  }
}

/** Files that can widen what anybody may do here: git's hooks and settings, our own. Editing them is never implied. */
function isProtected(cwd: string, realPath: string): boolean {
  return ['.git', '.claude'].some((name) => isInside(join(cwd, name), realPath))
}

/** Own mode and rules, what its definition says, and the ceiling of every ancestor, read live along the chain. */
function policyOf(core: EngineCore, agent: Agent): PermissionPolicy {
  const { allow, deny } = core.rules
  const { only, deny: ownDeny } = agent.pool
  const ceilings: Ceiling[] = []
  for (let above = agent.parent; above !== undefined; above = above.parent) {
    ceilings.push(ceilingOf(above.id, { allow, deny, mode: above.birth.plan.mode.value, ceilings: [] }))
  }
  if (isStranger(agent)) ceilings.push(ceilingOf('a definition that is gone', STRANGER))
  return { allow, deny: [...deny, ...ownDeny], only, mode: agent.birth.plan.mode.value, ceilings }
}

/**
 * Whether the agent's definition is gone since it was spawned: what it forbade is not known any more. Such an agent
 * may read until it ends, and change nothing.
 */
function isStranger(agent: Agent): boolean {
  return agent.definition === undefined && agent.birth.plan.agentType !== ROOT_TYPE
}

const STRANGER: PermissionPolicy = { mode: 'plan', allow: [], deny: [], ceilings: [] }
