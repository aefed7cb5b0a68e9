/** Names of tools as rules, definitions and models write them. */

/**
 * Tools that this product knows by name, offered here or not. A definition may exclude one that the host does
 * not offer without being told that it is unknown; only a name outside this list is likely to be a slip.
 */
export const KNOWN_TOOL_NAMES: readonly string[] = [
  'Agent',
  'AskParent',
  'AskUserQuestion',
  'Bash',
  'BashOutput',
  'Edit',
  'EnterWorktree',
  'ExitPlanMode',
  'ExitWorktree',
  'Glob',
  'Grep',
  'KillShell',
  'ListAgents',
  'NotebookEdit',
  'Read',
  'SendMessage',
  'Skill',
  'TaskCreate',
  'TaskGet',
  'TaskList',
  'TaskOutput',
  'TaskStop',
  'TaskUpdate',
  'TeamCreate',
  'TeamDelete',
  'TodoWrite',
  'WebFetch',
  'WebSearch',
  'Write',
]

/** Tools that read the files they name. A path rule for `Read` speaks of all of them. */
export const READING_TOOLS: readonly string[] = ['Read', 'Glob', 'Grep']

/** Tools that change the files they name. A path rule for `Edit` speaks of all of them. */
export const WRITING_TOOLS: readonly string[] = ['Edit', 'Write', 'NotebookEdit']

/** The `Agent` tool and what only makes sense beside it. */
export const DELEGATION_TOOLS: readonly string[] = ['Agent', 'TaskOutput', 'TaskStop']

/** Tools that speak to the person, or end the person's own plan: no sub-agent has them. */
export const ROOT_ONLY_TOOLS: readonly string[] = ['ExitPlanMode', 'AskUserQuestion']

/** Tools that only make sense below somebody. */
export const CHILD_ONLY_TOOLS: readonly string[] = ['AskParent']

/** What agents that are started in the background keep, besides the tools of MCP servers: nothing that waits for a person. */
export const BACKGROUND_TOOLS: readonly string[] = [
  'Read',
  'Glob',
  'Grep',
  'Edit',
  'Write',
  'NotebookEdit',
  'Bash',
  'BashOutput',
  'KillShell',
  'WebFetch',
  'WebSearch',
  'TodoWrite',
  'Skill',
  'SendMessage',
  'AskParent',
]

/** What agents of files and flags do without unless a setting says otherwise: moving between worktrees, running teams. */
export const NOT_FOR_FILE_AGENTS: readonly string[] = [
  'EnterWorktree',
  'ExitWorktree',
  'TeamCreate',
  'TeamDelete',
]

const spelling = new Map(KNOWN_TOOL_NAMES.map((name) => [name.toLowerCase(), name]))
// The name of `Agent` in older logs, rules and definitions.
spelling.set('task', 'Agent')
const known: ReadonlySet<string> = new Set(KNOWN_TOOL_NAMES.map((name) => name.toLowerCase()))

/** The name as this product spells it: blanks trimmed, case corrected, `Task` read as `Agent`. Others stay. */
export function canonicalToolName(name: string): string {
  const trimmed = name.trim()
  return spelling.get(trimmed.toLowerCase()) ?? trimmed
}

/** Do both name one tool? Case does not matter. */
export function isSameTool(left: string, right: string): boolean {
  return canonicalToolName(left).toLowerCase() === canonicalToolName(right).toLowerCase()
}

/** Is the tool one of these? */
export function isToolAmong(name: string, names: readonly string[]): boolean {
  const wanted = canonicalToolName(name).toLowerCase()
  return names.some((candidate) => canonicalToolName(candidate).toLowerCase() === wanted)
}

/** Is it a tool of this product, in any spelling? Asked for each entry of each definition. */
export const isKnownTool = (name: string): boolean => known.has(canonicalToolName(name).toLowerCase())

/** Is it a tool of an MCP server? */
export function isMcpTool(name: string): boolean {
  return name.trim().toLowerCase().startsWith('mcp__')
}

/** Does `pattern` name the MCP tool `name`: itself, its server (`mcp__server`), or a prefix (`mcp__server__*`)? */
export function coversMcpTool(pattern: string, name: string): boolean {
  const [wanted, given] = [pattern.trim().toLowerCase(), name.trim().toLowerCase()]
  if (!wanted.startsWith('mcp__') || !given.startsWith('mcp__')) return false
  if (wanted.endsWith('*')) return given.startsWith(wanted.slice(0, -1))
  return given === wanted || given.startsWith(`${wanted}__`)
}
