/** The entries of `tools` and `disallowedTools`, as read: names, patterns, and names with a specifier. */
import { didYouMean } from './closest-name.ts'
import type { Diagnostic } from './diagnostic.ts'
import { agentTypesOf, type PermissionRule, parseRules, readRule, specifierKind } from './permissions/rule.ts'
import { coversMcpTool, isKnownTool, isMcpTool, isSameTool, KNOWN_TOOL_NAMES } from './tool-names.ts'

/** Which of the two lists. */
export type ToolListKey = 'tools' | 'disallowedTools'

/** One entry that could be read. */
export interface ToolEntry {
  /** As it is written. */
  readonly text: string
  /** Canonical; `*`, `mcp__server` and `mcp__server__*` stand for several. */
  readonly toolName: string
  readonly specifier: string | undefined
}

/** A list as read. */
export interface ToolEntries {
  readonly entries: readonly ToolEntry[]
  /** Texts of `tools` that could not be read and name nothing. */
  readonly broken: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Reads a list. What cannot be read never widens anything: in `tools` it names nothing, in `disallowedTools` it
 * excludes the whole tool whose name could be read.
 */
export function readToolEntries(texts: readonly string[], key: ToolListKey, agentType: string): ToolEntries {
  const entries: ToolEntry[] = []
  const broken: string[] = []
  const diagnostics: Diagnostic[] = []
  for (const written of texts) {
    const text = written.trim()
    const read = readRule(text)
    const problem = problemWith(read)
    if (read.kind === 'rule' && problem === undefined) {
      entries.push({ text, toolName: read.toolName, specifier: read.specifier })
      continue
    }
    const isWhole = key === 'disallowedTools' && read.toolName !== undefined
    if (isWhole) entries.push({ text, toolName: read.toolName, specifier: undefined })
    else broken.push(text)
    const effect = isWhole ? `excludes all of ${read.toolName}` : 'was left out'
    diagnostics.push({
      severity: 'error',
      code: 'tool-entry-unreadable',
      message: `The entry "${text}" (${key} of ${agentType}) ${effect}: ${problem}.`,
    })
  }
  return { entries, broken, diagnostics }
}

/** Does the entry speak of the tool, whole or in part? */
export function namesTool(entry: ToolEntry, toolName: string): boolean {
  return (
    entry.toolName === '*' || isSameTool(entry.toolName, toolName) || coversMcpTool(entry.toolName, toolName)
  )
}

/** Says that an entry names nothing that is offered; stays silent where that is no slip of the author. */
export function unknownName(
  entry: ToolEntry,
  offered: readonly string[],
  key: ToolListKey,
  agentType: string,
): readonly Diagnostic[] {
  if (entry.toolName === '*' || offered.some((name) => namesTool(entry, name))) return []
  const isKnown = isKnownTool(entry.toolName) || isMcpTool(entry.toolName)
  if (isKnown && key === 'disallowedTools') return []
  const what = isKnown ? 'is not offered here' : 'is not known'
  const hint = isKnown ? '' : didYouMean(entry.toolName, [...offered, ...KNOWN_TOOL_NAMES])
  return [
    {
      severity: key === 'tools' ? 'warning' : 'error',
      code: isKnown ? 'tool-not-offered' : 'tool-unknown',
      message: `The tool "${entry.toolName}" in ${key} of ${agentType} ${what} and was left out.${hint}`,
    },
  ]
}

/** The types that `Agent(a, b)` entries name; undefined when some entry allows all. */
export function agentTypesIn(entries: readonly ToolEntry[]): readonly string[] | undefined {
  const ofAgent = entries.filter(({ toolName }) => toolName === 'Agent' || toolName === '*')
  // One entry without types means all types.
  if (ofAgent.length === 0 || ofAgent.some(({ specifier }) => specifier === undefined)) return undefined
  return [...new Set(ofAgent.flatMap(({ specifier }) => agentTypesOf(specifier ?? '')))]
}

/** Limits on calls of the tools in the pool, from entries with a specifier; a tool that is listed whole has none. */
export function limitsIn(
  entries: readonly ToolEntry[],
  tools: readonly string[],
  source: string,
): readonly PermissionRule[] {
  const limited = entries.filter(
    (entry) =>
      entry.specifier !== undefined &&
      entry.toolName !== 'Agent' &&
      tools.some((name) => namesTool(entry, name)) &&
      !entries.some((other) => other.specifier === undefined && namesTool(other, entry.toolName)),
  )
  return rulesOf(limited, 'allow', source)
}

/** The entries as rules that do not go down to children. */
export function rulesOf(
  entries: readonly ToolEntry[],
  kind: 'allow' | 'deny',
  source: string,
): readonly PermissionRule[] {
  const texts = entries.map(({ text }) => text)
  return parseRules(texts, { kind, source, inheritable: false }).rules
}

function problemWith(read: ReturnType<typeof readRule>): string | undefined {
  if (read.kind === 'broken') return read.problem
  return read.specifier !== undefined && specifierKind(read.toolName) === 'unknown'
    ? `what is in the brackets is not understood for ${read.toolName}`
    : undefined
}
