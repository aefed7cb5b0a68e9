/** Asks the permission engine about one call, with what is in force for the agent at this moment. */
import { homedir } from 'node:os'
import { relative, resolve, sep } from 'node:path'
import type { PermissionMode } from '../definitions/permission-mode.ts'
import type { Ceiling, PermissionPolicy, PermissionRequest } from '../definitions/permissions/decide.ts'
import { ceilingOf, decide } from '../definitions/permissions/decide.ts'
import { isNarrower } from '../definitions/permissions/modes.ts'
import { PROTECTED_NAMES } from '../definitions/permissions/protected-names.ts'
import { refusalMessage, suggestRules } from '../definitions/permissions/refusal-message.ts'
import type { PermissionRule } from '../definitions/permissions/rule.ts'
import { specifierKind } from '../definitions/permissions/rule.ts'
import { readShell } from '../definitions/permissions/shell/read-shell.ts'
import { isMcpTool } from '../definitions/tool-names.ts'
import type { Place } from '../effects/tools/confinement.ts'
import { isInside, placePath } from '../effects/tools/confinement.ts'
import type { Tool } from '../effects/tools/tool.ts'
import type { Agent } from './agent.ts'
import type { EngineCore } from './core.ts'
import { allowRulesOf } from './grants.ts'
import { modeOfSession } from './mode.ts'
import { ROOT_TYPE } from './root.ts'
import { outsideWorktree } from './worktree/stay-inside.ts'

/** What becomes of a call: it runs, it does not, with a text for the model, or somebody has to be asked. */
export type Permission =
  | {
      readonly kind: 'allowed'
      /** Where the path that it names leads, links resolved: what was judged is what may be touched. */
      readonly judged?: string
    }
  | { readonly kind: 'refused'; readonly message: string }
  | {
      readonly kind: 'ask'
      readonly judged?: string
      readonly reason: string
      /** An ask rule wants it, which no hook can answer. */
      readonly isByRule: boolean
      /** The classifier is to be asked before a person is. */
      readonly isForClassifier: boolean
      /** The narrowest rules that together would allow it. None where an ask rule wants it: it would ask again. */
      readonly suggestions: readonly string[]
      /** For the model, when nobody can be asked: what was refused, and why approval is needed. */
      readonly refusal: (reason: string) => string
    }

/** Judges one call. */
export async function permissionFor(
  core: EngineCore,
  agent: Agent,
  tool: Tool,
  input: unknown,
): Promise<Permission> {
  const request = await requestOf(core, agent, tool, input)
  if (
    request.writesPath !== undefined &&
    request.resolvedPath !== undefined &&
    isInside(core.home, request.resolvedPath)
  ) {
    return {
      kind: 'refused',
      message: `${request.writesPath} is among the logs of Troupe itself, which are written by the engine alone, in every permission mode.`,
    }
  }
  const outside = outsideWorktree(agent, tool, input, request)
  if (outside !== undefined) return { kind: 'refused', message: outside }
  const decision = decide(request, policyOf(core, agent))
  const judged = judgedPath(agent, request)
  const found = judged === undefined ? {} : { judged }
  if (decision.decision === 'allow') return { kind: 'allowed', ...found }
  if (decision.decision === 'deny') return { kind: 'refused', message: refusalMessage(request, decision) }
  return {
    kind: 'ask',
    ...found,
    isByRule: decision.rule !== undefined,
    isForClassifier: decision.decision === 'classify',
    reason: decision.reason,
    suggestions: decision.rule === undefined ? suggestRules(request) : [],
    refusal: (reason) => refusalMessage(request, { ...decision, reason }),
  }
}

/** The narrowest mode of an agent and of everybody above it, as it is at this moment. */
export function modeInForce(core: EngineCore, agent: Agent): PermissionMode {
  // Read from modes alone: rules and tools, which cost more to put together, have no say in it.
  let narrowest = isStranger(agent) ? STRANGER.mode : agent.mode
  const narrow = (mode: PermissionMode): void => {
    if (isNarrower(mode, narrowest)) narrowest = mode
  }
  for (let above = agent.parent; above !== undefined; above = above.parent) narrow(above.mode)
  narrow(modeOfSession(core, agent))
  return narrowest
}

/** Where the path of a call that a person has changed leads. */
export async function judgedPathOf(
  core: EngineCore,
  agent: Agent,
  tool: Tool,
  input: unknown,
): Promise<string | undefined> {
  return judgedPath(agent, await requestOf(core, agent, tool, input))
}

/** A path that nobody could place stays where it is named: it must not become another one later. */
function judgedPath(
  { cwd }: Agent,
  { toolName, subject, writesPath, resolvedPath }: PermissionRequest,
): string | undefined {
  const path = writesPath ?? (specifierKind(toolName) === 'path' ? subject : undefined)
  return path === undefined ? undefined : (resolvedPath ?? resolve(cwd, path))
}

async function requestOf(
  core: EngineCore,
  agent: Agent,
  tool: Tool,
  input: unknown,
): Promise<PermissionRequest> {
  const { cwd } = agent
  const writesPath = tool.writes?.(input)
  const isPath = writesPath !== undefined || specifierKind(tool.name) === 'path'
  const written = tool.ruleSubject?.(input)
  const path = writesPath ?? (isPath ? written : undefined)
  const place = path === undefined ? undefined : await placeOf(cwd, path)
  const isInMemory =
    place !== undefined && agent.equipment.writableRoots.some((root) => isInside(root, place.real))
  const subject = isPath ? (place?.named ?? written) : written
  return {
    toolName: tool.name,
    cwd,
    home: homedir(),
    // What a server says of its own tools approves nothing.
    isReadOnly: tool.isReadOnly(input) && tool.reachesOut?.(input) !== true && !isMcpTool(tool.name),
    isInsideCwd:
      path === undefined ||
      (place !== undefined &&
        isInWorkingDirectory([cwd, ...core.directories], place, writesPath !== undefined)),
    ...(isInMemory && { isInMemory }),
    ...(subject !== undefined && { subject }),
    ...(specifierKind(tool.name) === 'command' &&
      subject !== undefined && { shell: await readShell(subject) }),
    ...(writesPath !== undefined && { writesPath }),
    ...(place !== undefined && { resolvedPath: place.real }),
  }
}

/** Where a path leads with all links resolved; undefined for one that no file tool touches. */
async function placeOf(cwd: string, path: string): Promise<Place | undefined> {
  try {
    return await placePath(path, cwd)
  } catch {
    return undefined
  }
}

/** Whether a path lies in one of the directories, and, to be written, is none of those that widen what is allowed. */
function isInWorkingDirectory(
  directories: readonly string[],
  { named, real }: Place,
  isWritten: boolean,
): boolean {
  const [home] = directories.filter((directory) => isInside(directory, real))
  return home !== undefined && !(isWritten && (isProtected(home, named) || isProtected(home, real)))
}

/** Whether it is protected, at any depth. */
function isProtected(cwd: string, path: string): boolean {
  return relative(cwd, path)
    .split(sep)
    .some((part) => PROTECTED_NAMES.has(part.toLowerCase()))
}

/** Whether a redirect of a call may be followed to another host. */
export function fetchGuard(core: EngineCore, agent: Agent): (url: string) => boolean {
  const policy = policyOf(core, agent)
  return (url) =>
    decide(
      { toolName: 'WebFetch', subject: url, cwd: agent.cwd, isReadOnly: false, isInsideCwd: true },
      policy,
    ).decision === 'allow'
}

/** Whether a tool that goes through many files may show one. Undefined: all that it reaches. */
export function readGuard(core: EngineCore, agent: Agent): ((path: string) => boolean) | undefined {
  const policy = policyOf(core, agent)
  const denies = [policy.deny, ...policy.ceilings.map(({ deny }) => deny)].flat()
  if (
    !denies.some(({ specifier, toolName }) => specifier !== undefined && specifierKind(toolName) === 'path')
  )
    return undefined
  const request = { toolName: 'Read', cwd: agent.cwd, home: homedir(), isReadOnly: true, isInsideCwd: true }
  return (path) => decide({ ...request, subject: path, resolvedPath: path }, policy).decision !== 'deny'
}

/** Own mode and rules, what its definition says, and the ceiling of every ancestor, read live along the chain. */
function policyOf(core: EngineCore, agent: Agent): PermissionPolicy {
  const { deny, ask } = core.rules
  const allow = allowRulesOf(agent)
  const { only, deny: ownDeny } = agent.equipment.pool
  const ceilings: Ceiling[] = []
  for (let above = agent.parent; above !== undefined; above = above.parent) {
    ceilings.push(ceilingOf(above.id, { allow, deny, ask, mode: above.mode, ceilings: [] }, above.cwd))
  }
  // What the person or host says now holds for every agent, whatever mode its log gives it.
  ceilings.push(ceilingOf('this engine', { allow, deny: [], mode: modeOfSession(core, agent), ceilings: [] }))
  if (isStranger(agent)) ceilings.push(ceilingOf('a definition that is gone', STRANGER))
  return {
    allow,
    ask,
    deny: withOwn(deny, ownDeny),
    only,
    mode: agent.mode,
    ceilings,
  }
}

/** Kept for each list of an agent's own, as what is made ready for a list is made once. */
function withOwn(deny: readonly PermissionRule[], own: readonly PermissionRule[]): readonly PermissionRule[] {
  if (own.length === 0) return deny
  const known = together.get(own)
  if (known !== undefined) return known
  const all = [...deny, ...own]
  together.set(own, all)
  return all
}

const together = new WeakMap<readonly PermissionRule[], readonly PermissionRule[]>()

/**
 * Whether the agent's definition is gone since it was spawned: what it forbade is not known any more. Such an agent
 * may read until it ends, and change nothing.
 */
function isStranger(agent: Agent): boolean {
  return agent.definition === undefined && agent.birth.plan.agentType !== ROOT_TYPE
}

const STRANGER: PermissionPolicy = { mode: 'plan', allow: [], deny: [], ceilings: [] }
