/**
 * Which tools an agent of a definition has, of those that exist.
 *
 * In order: minus what no sub-agent may have, then what the definition lists, minus what it excludes, then what
 * its mode leaves. An entry may carry a specifier: `Agent(a, b)` names the types that it may start,
 * `Bash(git log:*)` limits the tool's calls, and in `disallowedTools` it forbids such calls and leaves the tool.
 */
import type { AgentDefinition } from './agent-definition.ts'
import { didYouMean } from './closest-name.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { PermissionMode } from './permission-mode.ts'
import { agentTypesOf, type PermissionRule, parseRules, readRule, specifierKind } from './permissions/rule.ts'
import { coversMcpTool, DELEGATION_TOOLS, isSameTool, isToolAmong, KNOWN_TOOL_NAMES } from './tool-names.ts'

/** What the pool depends on besides the definition. */
export interface ToolPoolOptions {
  readonly isChild: boolean
  /** May this child start agents of its own? */
  readonly nestingAllowed: boolean
  readonly mode: PermissionMode
  /** Can the tool be used without changing anything? Asked in `plan` only. */
  readonly isReadOnlyTool: (name: string) => boolean
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
      readonly diagnostics: readonly Diagnostic[]
    }
  | {
      readonly kind: 'refused'
      readonly code: 'no-tools-left'
      readonly message: string
      readonly diagnostics: readonly Diagnostic[]
    }

/** What no sub-agent may have: these speak to the person. */
const ROOT_ONLY_TOOLS: readonly string[] = ['ExitPlanMode', 'AskUserQuestion']

/** Resolves the tools of one agent. */
export function resolveToolPool(
  allToolNames: readonly string[],
  definition: Pick<AgentDefinition, 'agentType' | 'tools' | 'disallowedTools'>,
  options: ToolPoolOptions,
): ToolPool {
  const { agentType } = definition
  const listed = readEntries(definition.tools ?? ['*'], `tools of ${agentType}`)
  const excluded = readEntries(definition.disallowedTools ?? [], `disallowedTools of ${agentType}`)
  const diagnostics = [
    ...listed.diagnostics,
    ...excluded.diagnostics,
    ...listed.entries.flatMap((entry) => unknownName(entry, allToolNames, 'tools', agentType)),
    ...excluded.entries.flatMap((entry) => unknownName(entry, allToolNames, 'disallowedTools', agentType)),
  ]
  const whyNot = (name: string): string | undefined => {
    if (options.isChild && isToolAmong(name, ROOT_ONLY_TOOLS)) return 'only the main agent has it'
    if (options.isChild && !options.nestingAllowed && isToolAmong(name, DELEGATION_TOOLS))
      return 'agents at this depth start no others'
    if (excluded.entries.some((entry) => entry.specifier === undefined && names(entry, name)))
      return 'it is in disallowedTools'
    if (options.mode === 'plan' && !options.isReadOnlyTool(name))
      return 'mode "plan" leaves reading tools only'
    return undefined
  }
  const wanted = allToolNames.filter((name) => listed.entries.some((entry) => names(entry, name)))
  const tools = wanted.filter((name) => whyNot(name) === undefined)
  if (tools.length === 0 && definition.tools !== undefined && definition.tools.length > 0) {
    const reasons = [
      ...listed.entries
        .filter((entry) => !wanted.some((name) => names(entry, name)))
        .map((entry) => `${entry.text} (not offered here)`),
      ...listed.broken.map((text) => `${text} (cannot be read)`),
      ...wanted.map((name) => `${name} (${whyNot(name)})`),
    ]
    return {
      kind: 'refused',
      code: 'no-tools-left',
      message: `The agent type "${agentType}" lists tools of which none is left: ${reasons.join(', ')}. Offered are: ${allToolNames.join(', ')}. Correct its tools, or list none if it should have none.`,
      diagnostics,
    }
  }
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
    diagnostics,
  }
}

interface Entry {
  readonly text: string
  readonly toolName: string
  readonly specifier: string | undefined
}

function readEntries(
  texts: readonly string[],
  where: string,
): {
  readonly entries: readonly Entry[]
  readonly broken: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
} {
  const entries: Entry[] = []
  const broken: string[] = []
  const diagnostics: Diagnostic[] = []
  for (const text of texts) {
    const read = readRule(text)
    const problem =
      read.kind === 'broken'
        ? read.problem
        : read.specifier !== undefined && specifierKind(read.toolName) === 'unknown'
          ? `what is in the brackets is not understood for ${read.toolName}`
          : undefined
    if (read.kind === 'rule' && problem === undefined) {
      entries.push({ text: text.trim(), toolName: read.toolName, specifier: read.specifier })
      continue
    }
    broken.push(text.trim())
    const message = `The entry "${text.trim()}" (${where}) was left out: ${problem}.`
    diagnostics.push({ severity: 'error', code: 'tool-entry-unreadable', message })
  }
  return { entries, broken, diagnostics }
}

function names(entry: Entry, toolName: string): boolean {
  return (
    entry.toolName === '*' || isSameTool(entry.toolName, toolName) || coversMcpTool(entry.toolName, toolName)
  )
}

/** Says that an entry names nothing that is offered; stays silent where that is no slip of the author. */
function unknownName(
  entry: Entry,
  allToolNames: readonly string[],
  key: 'tools' | 'disallowedTools',
  agentType: string,
): readonly Diagnostic[] {
  if (entry.toolName === '*' || allToolNames.some((name) => names(entry, name))) return []
  const isKnown = isToolAmong(entry.toolName, KNOWN_TOOL_NAMES) || entry.toolName.startsWith('mcp__')
  if (isKnown && key === 'disallowedTools') return []
  const what = isKnown ? 'is not offered here' : 'is not known'
  const hint = isKnown ? '' : didYouMean(entry.toolName, [...allToolNames, ...KNOWN_TOOL_NAMES])
  return [
    {
      severity: key === 'tools' ? 'warning' : 'error',
      code: isKnown ? 'tool-not-offered' : 'tool-unknown',
      message: `The tool "${entry.toolName}" in ${key} of ${agentType} ${what} and was left out.${hint}`,
    },
  ]
}

function agentTypesIn(entries: readonly Entry[]): readonly string[] | undefined {
  const ofAgent = entries.filter(({ toolName }) => toolName === 'Agent' || toolName === '*')
  // One entry without types means all types.
  if (ofAgent.length === 0 || ofAgent.some(({ specifier }) => specifier === undefined)) return undefined
  return [...new Set(ofAgent.flatMap(({ specifier }) => agentTypesOf(specifier ?? '')))]
}

function limitsIn(
  entries: readonly Entry[],
  tools: readonly string[],
  source: string,
): readonly PermissionRule[] {
  const limited = entries.filter(
    (entry) =>
      entry.specifier !== undefined &&
      entry.toolName !== 'Agent' &&
      tools.some((name) => names(entry, name)) &&
      !entries.some((other) => other.specifier === undefined && names(other, entry.toolName)),
  )
  return rulesOf(limited, 'allow', source)
}

function rulesOf(
  entries: readonly Entry[],
  kind: 'allow' | 'deny',
  source: string,
): readonly PermissionRule[] {
  const texts = entries.map(({ text }) => text)
  return parseRules(texts, { kind, source, inheritable: false }).rules
}
