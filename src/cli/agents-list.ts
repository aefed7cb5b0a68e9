/** `troupe agents list`: what can be started, then what cannot and why. */
import type { AgentDefinition } from '../definitions/agent-definition.ts'
import { whenToUseOf } from '../definitions/agent-definition.ts'
import type { FoundAgent } from '../definitions/files/agent-file.ts'
import { checkMcpRequirement } from '../definitions/mcp-requirement.ts'
import type { Project } from '../effects/project/project.ts'
import { paintFor } from './agent-colours.ts'
import { countsOf, shownFile, sourceOf, table, toolsInWords } from './agents-text.ts'
import { coloursFor } from './colours.ts'
import { EXIT } from './errors.ts'
import { counted, displayWidth, oneLine, toJson } from './format.ts'
import type { Host } from './host.ts'

/** Columns of a list that goes to a file or a pipe. */
const PIPE_WIDTH = 200
const MOST_TOOLS = 44
const MOST_NAME = 48

type Status = 'active' | 'inactive' | 'shadowed'

/** Writes the list. Resolves with the exit code. */
export function listAgents(project: Project, { json }: { readonly json: boolean }, host: Host): number {
  const { allAgents, failedFiles } = project.agents
  const rated = allAgents.map((found) => ({ ...found, ...statusOf(found, project) }))
  if (json) {
    for (const agent of rated) host.stdout.write(`${toJson(jsonOf(agent))}\n`)
    for (const { file, reason } of failedFiles)
      host.stdout.write(`${toJson({ status: 'failed', file, reason })}\n`)
  } else {
    const width = host.stdout.columns ?? PIPE_WIDTH
    const colours = coloursFor(host.stdout, host.env)
    const write = (line: string): void => host.stdout.write(`${line}\n`)
    const section = (title: string, lines: readonly string[]): void => {
      if (lines.length === 0) return
      write(`\n${colours.bold(title)}`)
      for (const line of lines) write(cut(line, width))
    }
    const active = rated.filter(({ status }) => status === 'active')
    const [head = '', ...rows] = table([
      ['NAME', 'SOURCE', 'MODEL', 'TOOLS', 'FILE'],
      ...active.map(({ definition }) => rowOf(definition, host)),
    ])
    write(colours.dim(head))
    for (const [index, row] of rows.entries()) {
      const { agentType = '', color } = active[index]?.definition ?? {}
      write(withPaint(cut(row, width), oneLine(agentType, MOST_NAME), paintFor(color, colours)))
    }
    const others = (status: Status): readonly string[] =>
      table(
        rated
          .filter((agent) => agent.status === status)
          .map(({ definition, why }) => [
            oneLine(definition.agentType, MOST_NAME),
            sourceOf(definition),
            oneLine(placeOf(definition, host)),
            oneLine(why ?? ''),
          ]),
      )
    section('Cannot be started now', others('inactive'))
    section('Not in use: another one has the name', others('shadowed'))
    section(
      'Failed',
      failedFiles.map(({ file, reason }) => oneLine(`${shownFile(file, host)}: ${reason}`)),
    )
  }
  const counts = countsOf(project.diagnostics)
  if (counts !== undefined) host.stderr.write(`troupe: ${counts}; see troupe agents validate\n`)
  return EXIT.success
}

function statusOf(
  { definition, shadowedBy }: FoundAgent,
  project: Project,
): { readonly status: Status; readonly why?: string } {
  if (shadowedBy !== undefined) return { status: 'shadowed', why: `the one in use: ${whereIs(shadowedBy)}` }
  const missing = missingServers(definition, project)
  if (missing.length === 0) return { status: 'active' }
  return {
    status: 'inactive',
    why: `needs ${counted(missing.length, 'MCP server')} that nobody names here: ${missing.join(', ')}`,
  }
}

/** Servers are not started for this: what is configured is taken for present. */
function missingServers(
  { agentType, requiredMcpServers = [], mcpServers = [] }: AgentDefinition,
  project: Project,
): readonly string[] {
  const own = mcpServers.flatMap((server) => (typeof server === 'string' ? [] : [server.name]))
  const facts = [...project.mcpServers.map(({ name }) => name), ...own].map((name) => ({
    name,
    status: 'connected' as const,
    tools: 1,
  }))
  const requirement = checkMcpRequirement(agentType, requiredMcpServers, facts)
  return requirement.kind === 'missing' ? requirement.parts : []
}

const whereIs = (definition: AgentDefinition): string =>
  definition.filename === undefined ? sourceOf(definition) : `${sourceOf(definition)}, ${definition.filename}`

const placeOf = ({ filename }: AgentDefinition, host: Host): string =>
  filename === undefined ? '' : shownFile(filename, host)

function rowOf(definition: AgentDefinition, host: Host): readonly string[] {
  return [
    oneLine(definition.agentType, MOST_NAME),
    sourceOf(definition),
    oneLine(definition.model ?? 'inherit', 24),
    oneLine(toolsInWords(definition), MOST_TOOLS),
    oneLine(placeOf(definition, host)),
  ]
}

/** As `oneLine`, but the columns keep their blanks. */
const cut = (row: string, width: number): string =>
  displayWidth(row) <= width
    ? row
    : `${Array.from(row)
        .slice(0, Math.max(0, width - 1))
        .join('')}…`

/** Painted when it has its place: to the columns of a table the signs for a colour would be text. */
const withPaint = (row: string, name: string, paint: (text: string) => string): string =>
  row.startsWith(name) ? `${paint(name)}${row.slice(name.length)}` : row

function jsonOf({
  definition,
  shadowedBy,
  status,
  why,
}: FoundAgent & { readonly status: Status; readonly why?: string }): Readonly<Record<string, unknown>> {
  const { agentType, source, plugin, model = 'inherit', tools, disallowedTools, color, filename } = definition
  return {
    name: agentType,
    status,
    source,
    ...(plugin !== undefined && { plugin }),
    description: whenToUseOf(definition, { callerTools: [] }),
    model,
    // Absent and `*` mean the same: all.
    tools: tools ?? ['*'],
    ...(disallowedTools !== undefined && { disallowed_tools: disallowedTools }),
    ...(color !== undefined && { color }),
    ...(filename !== undefined && { file: filename }),
    ...(shadowedBy !== undefined && {
      shadowed_by: {
        source: shadowedBy.source,
        ...(shadowedBy.filename !== undefined && { file: shadowedBy.filename }),
      },
    }),
    ...(status === 'inactive' && { reason: why }),
  }
}
