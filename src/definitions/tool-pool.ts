/**
 * Which tools an agent of a definition has, of those that exist.
 *
 * A tool that is offered passes a row of steps; the first that objects drops it, and its reason is kept:
 * root-only → child-only → nesting → background → source → `tools` → `disallowedTools` → plan. Tools of the agent's own MCP
 * servers join after `tools`: whoever declares a server wants its tools. An entry may carry a specifier:
 * `Agent(a, b)` names the types that it may start, `Bash(git log:*)` limits the tool's calls, and in
 * `disallowedTools` it forbids such calls and leaves the tool.
 *
 *   T1  Steps only drop. So no definition has a tool that was not offered, and none gains by an entry more.
 *   T2  The order and the spelling are those of what was offered.
 *   T3  Every tool that was offered is in the pool or among the dropped, with one reason.
 */
import type { AgentDefinition, DefinitionSource } from './agent-definition.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { PermissionMode } from './permission-mode.ts'
import type { PermissionRule } from './permissions/rule.ts'
import {
  agentTypesIn,
  limitsIn,
  namesTool,
  readToolEntries,
  rulesOf,
  type ToolEntries,
  unknownName,
} from './tool-entries.ts'
import {
  BACKGROUND_TOOLS,
  CHILD_ONLY_TOOLS,
  DELEGATION_TOOLS,
  isMcpTool,
  isSameTool,
  isToolAmong,
  NOT_FOR_FILE_AGENTS,
  ROOT_ONLY_TOOLS,
} from './tool-names.ts'

/** What the pool depends on besides the definition. */
export interface ToolPoolOptions {
  readonly isChild: boolean
  /** May this child start agents of its own? */
  readonly nestingAllowed: boolean
  readonly mode: PermissionMode
  /** Whoever started it can approve its plan: it has `ExitPlanMode`. */
  readonly mayLeavePlan?: boolean
  /** Can the tool be used without changing anything? Asked in `plan` only. */
  readonly isReadOnlyTool: (name: string) => boolean
  /** Started in the background. Not for agents that were moved there: they keep what they have. */
  readonly isBackground?: boolean
  /** What background agents keep besides MCP tools. */
  readonly backgroundTools?: readonly string[]
  /** What agents of user, project, local and flag sources do without. */
  readonly notForFileAgents?: readonly string[]
  /** Tools of MCP servers that the definition brings along. */
  readonly ownMcpTools?: readonly string[]
}

/** The step that dropped a tool. */
export type ToolPoolStep =
  | 'root-only'
  | 'child-only'
  | 'nesting'
  | 'background'
  | 'source'
  | 'tools'
  | 'disallowedTools'
  | 'plan'

/** A tool that was offered and is not in the pool. */
export interface DroppedTool {
  readonly tool: string
  readonly step: ToolPoolStep
  /** For people, in a few words. */
  readonly reason: string
}

/** The pool, or why there is none: a list that names tools and comes to nothing is a mistake, not a wish. */
export type ToolPool =
  | {
      readonly kind: 'resolved'
      /** In the order and spelling in which they were offered. */
      readonly tools: readonly string[]
      /** From `Agent(a, b)`: the only types it may start. Undefined: all. */
      readonly allowedAgentTypes: readonly string[] | undefined
      /** Limits on calls of tools in the pool, for `PermissionPolicy.only`. */
      readonly only: readonly PermissionRule[]
      /** Calls that the definition forbids, for `PermissionPolicy.deny`. They do not go down to children. */
      readonly deny: readonly PermissionRule[]
      /** What was offered and is not in `tools`, in the order offered. */
      readonly dropped: readonly DroppedTool[]
      readonly diagnostics: readonly Diagnostic[]
    }
  | {
      readonly kind: 'refused'
      readonly code: 'no-tools-left'
      readonly message: string
      readonly dropped: readonly DroppedTool[]
      readonly diagnostics: readonly Diagnostic[]
    }

/** A pool that there is. */
export type ResolvedToolPool = Extract<ToolPool, { kind: 'resolved' }>

/** What a pool needs to know of a definition. Without a source it is trusted. */
export type ToolPoolDefinition = Pick<AgentDefinition, 'agentType' | 'tools' | 'disallowedTools'> &
  Partial<Pick<AgentDefinition, 'source'>>

/** Resolves the tools of one agent. A fork does not come here: see {@link forkToolPool}. */
export function resolveToolPool(
  allToolNames: readonly string[],
  definition: ToolPoolDefinition,
  options: ToolPoolOptions,
): ToolPool {
  const { agentType } = definition
  const own = options.ownMcpTools ?? []
  const offered = [...allToolNames, ...own.filter((name) => !isToolAmong(name, allToolNames))]
  const listed = readToolEntries(definition.tools ?? ['*'], 'tools', agentType)
  const excluded = readToolEntries(definition.disallowedTools ?? [], 'disallowedTools', agentType)
  const diagnostics = [
    ...listed.diagnostics,
    ...excluded.diagnostics,
    ...listed.entries.flatMap((entry) => unknownName(entry, offered, 'tools', agentType)),
    ...excluded.entries.flatMap((entry) => unknownName(entry, offered, 'disallowedTools', agentType)),
  ]
  const steps = stepsFor(definition, listed, excluded, options)
  const judged = offered.map((tool) => ({ tool, objection: firstObjection(steps, tool) }))
  const tools = judged.flatMap(({ tool, objection }) => (objection === undefined ? [tool] : []))
  const dropped = judged.flatMap(({ tool, objection }) =>
    objection === undefined ? [] : [{ tool, ...objection }],
  )
  if (tools.length === 0 && definition.tools !== undefined && definition.tools.length > 0)
    return nothingLeft(agentType, listed, offered, dropped, diagnostics)
  return {
    kind: 'resolved',
    tools,
    allowedAgentTypes: agentTypesIn(listed.entries),
    only: limitsIn(listed.entries, tools, `tools of ${agentType}`),
    deny: rulesOf(
      excluded.entries.filter(({ specifier }) => specifier !== undefined),
      'deny',
      `disallowedTools of ${agentType}`,
    ),
    dropped,
    diagnostics,
  }
}

/**
 * The pool of a fork: its parent's array, untouched, so that the bytes on the wire are the same, and everything
 * that bounds its parent's calls, so that forking gains nothing.
 */
export function forkToolPool(parent: ResolvedToolPool): ResolvedToolPool {
  return { ...parent, diagnostics: [] }
}

interface Step {
  readonly step: ToolPoolStep
  readonly reason: string
  readonly drops: (name: string) => boolean
}

/** Definitions that anybody who can write into a project or a home folder can bring in. */
const FILE_SOURCES: readonly DefinitionSource[] = [
  'userSettings',
  'projectSettings',
  'localSettings',
  'flagSettings',
]

function stepsFor(
  { source = 'built-in' }: ToolPoolDefinition,
  listed: ToolEntries,
  excluded: ToolEntries,
  options: ToolPoolOptions,
): readonly Step[] {
  const {
    isChild,
    nestingAllowed,
    mode,
    isReadOnlyTool,
    isBackground = false,
    mayLeavePlan = false,
  } = options
  const isWayOut = (name: string): boolean => mayLeavePlan && isSameTool(name, 'ExitPlanMode')
  const {
    backgroundTools = BACKGROUND_TOOLS,
    notForFileAgents = NOT_FOR_FILE_AGENTS,
    ownMcpTools = [],
  } = options
  return [
    {
      step: 'root-only',
      reason: 'only the main agent has it',
      drops: (name) => isChild && isToolAmong(name, ROOT_ONLY_TOOLS) && !isWayOut(name),
    },
    {
      step: 'child-only',
      reason: 'nobody has started it',
      drops: (name) => !isChild && isToolAmong(name, CHILD_ONLY_TOOLS),
    },
    {
      step: 'nesting',
      reason: 'agents at this depth start no others',
      drops: (name) => isChild && !nestingAllowed && isToolAmong(name, DELEGATION_TOOLS),
    },
    {
      step: 'background',
      reason: 'agents started in the background do without it',
      drops: (name) => isChild && isBackground && !isMcpTool(name) && !isToolAmong(name, backgroundTools),
    },
    {
      step: 'source',
      reason: `a setting keeps it from agents of ${source}`,
      drops: (name) => isChild && FILE_SOURCES.includes(source) && isToolAmong(name, notForFileAgents),
    },
    {
      step: 'tools',
      reason: 'it is not in tools',
      drops: (name) =>
        !isToolAmong(name, ownMcpTools) && !listed.entries.some((entry) => namesTool(entry, name)),
    },
    {
      step: 'disallowedTools',
      reason: 'it is in disallowedTools',
      drops: (name) =>
        excluded.entries.some((entry) => entry.specifier === undefined && namesTool(entry, name)),
    },
    {
      step: 'plan',
      reason: 'mode "plan" leaves reading tools only',
      drops: (name) => mode === 'plan' && !isReadOnlyTool(name),
    },
  ]
}

function firstObjection(steps: readonly Step[], name: string): Omit<DroppedTool, 'tool'> | undefined {
  const found = steps.find(({ drops }) => drops(name))
  return found === undefined ? undefined : { step: found.step, reason: found.reason }
}

function nothingLeft(
  agentType: string,
  listed: ToolEntries,
  offered: readonly string[],
  dropped: readonly DroppedTool[],
  diagnostics: readonly Diagnostic[],
): ToolPool {
  const isWanted = (tool: string): boolean => listed.entries.some((entry) => namesTool(entry, tool))
  const reasons = [
    ...listed.entries
      .filter((entry) => !offered.some((name) => namesTool(entry, name)))
      .map((entry) => `${entry.text} (not offered here)`),
    ...listed.broken.map((text) => `${text} (cannot be read)`),
    ...dropped.filter(({ tool }) => isWanted(tool)).map(({ tool, reason }) => `${tool} (${reason})`),
  ]
  return {
    kind: 'refused',
    code: 'no-tools-left',
    message: `The agent type "${agentType}" lists tools of which none is left: ${reasons.join(', ')}. Offered are: ${offered.join(', ')}. Correct its tools, or list none if it should have none.`,
    dropped,
    diagnostics,
  }
}
