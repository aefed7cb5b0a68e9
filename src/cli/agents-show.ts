/** `troupe agents show NAME`: what an agent of this definition would be, each value with the rule that decided it. */
import { type AgentDefinition, whenToUseOf } from '../definitions/agent-definition.ts'
import { didYouMean } from '../definitions/closest-name.ts'
import type { FileDiagnostic } from '../definitions/files/agent-file.ts'
import { DEFAULT_LIMITS } from '../definitions/limits.ts'
import { resolveModelId } from '../definitions/model-aliases.ts'
import type { Resolved } from '../definitions/resolve.ts'
import { type RoutedSpawn, routeSpawn } from '../definitions/routing.ts'
import { findDefinition } from '../definitions/spawn-type.ts'
import { READING_TOOLS } from '../definitions/tool-names.ts'
import { resolveToolPool, type ToolPool } from '../definitions/tool-pool.ts'
import type { Project } from '../effects/project/project.ts'
import { paintFor } from './agent-colours.ts'
import { shownFile, sourceOf, table, toolsInWords } from './agents-text.ts'
import { coloursFor } from './colours.ts'
import { CliError, EXIT } from './errors.ts'
import { forTerminal, oneLine, toJson } from './format.ts'
import type { Host } from './host.ts'

/** Of the prompt. */
const MOST_LINES = 6
const MOST_CHARACTERS = 480

interface Shown {
  readonly definition: AgentDefinition
  /** As it would be spawned by a root agent with the defaults. */
  readonly spawn: RoutedSpawn
  readonly pool: ToolPool
  readonly prompt: string
  readonly shadowed: readonly AgentDefinition[]
  readonly diagnostics: readonly FileDiagnostic[]
}

/** Writes what it comes to. Throws a {@link CliError} when there is no such agent. Resolves with the exit code. */
export function showAgent(
  project: Project,
  { name, json }: { readonly name: string; readonly json: boolean },
  tools: readonly string[],
  host: Host,
): number {
  const { activeAgents } = project.agents
  const definition = findDefinition(name, activeAgents)
  if (definition === undefined) {
    const names = activeAgents.flatMap(({ agentType, aliases = [] }) => [agentType, ...aliases])
    throw new CliError(
      `there is no agent "${oneLine(name, 80)}".${didYouMean(name, names)} See troupe agents list`,
    )
  }
  const shown = resolved(definition, project, tools, host)
  if (json) host.stdout.write(`${toJson(jsonOf(shown))}\n`)
  else for (const line of linesOf(shown, project, host)) host.stdout.write(`${line}\n`)
  return EXIT.success
}

function resolved(
  definition: AgentDefinition,
  project: Project,
  tools: readonly string[],
  { cwd }: Host,
): Shown {
  const { agentType, filename } = definition
  const spawn = routeSpawn(
    { subagent_type: agentType, description: '', prompt: '' },
    {
      definitions: project.agents.activeAgents,
      caller: { depth: 0, mode: 'default', model: resolveModelId('sonnet') },
      policy: { limits: DEFAULT_LIMITS, live: 1, spawns: 0, denyRules: [], resolveModelId },
      // None is started for this: what is configured is taken for present.
      mcpServers: project.mcpServers.map((server) => ({ name: server.name, status: 'connected', tools: 1 })),
    },
  )
  const pool = resolveToolPool(tools, definition, {
    isChild: true,
    nestingAllowed: DEFAULT_LIMITS.depth > 1,
    mode: spawn.kind === 'spawn' ? spawn.plan.mode.value : 'default',
    isReadOnlyTool: (tool) => READING_TOOLS.includes(tool),
    isBackground: spawn.kind === 'spawn' && spawn.plan.background.value,
  })
  return {
    definition,
    spawn,
    pool,
    prompt: definition.getSystemPrompt({
      cwd,
      project: project.facts,
      ...(pool.kind === 'resolved' && { tools: pool.tools }),
    }),
    shadowed: project.agents.allAgents
      .filter(({ shadowedBy }) => shadowedBy === definition)
      .map((found) => found.definition),
    diagnostics: filename === undefined ? [] : project.diagnostics.filter(({ file }) => file === filename),
  }
}

/** The values of the plan that have a rule, by their names. */
function ruled(spawn: RoutedSpawn): readonly (readonly [name: string, resolved: Resolved<unknown>])[] {
  if (spawn.kind !== 'spawn') return []
  const { model, mode, maxTurns, isolation, background, thinking, effort, tokens, conversation } = spawn.plan
  const all = { model, mode, maxTurns, isolation, background, thinking, effort, tokens, conversation }
  return Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

/** Fields that stand as they are written, as texts. */
function written(definition: AgentDefinition, project: Project): readonly (readonly [string, string])[] {
  const { aliases, skills, mcpServers, requiredMcpServers, hooks, memory } = definition
  const isThere = (names: readonly string[]) => (name: string) => {
    const known = names.some((each) => each.toLowerCase() === name.toLowerCase())
    return known ? name : `${name} (not there)`
  }
  const shared = isThere(project.mcpServers.map(({ name }) => name))
  const list = (
    name: string,
    items: readonly string[] | undefined,
  ): readonly (readonly [string, string])[] =>
    items === undefined || items.length === 0 ? [] : [[name, items.join(', ')]]
  const plain = (['color', 'initialPrompt', 'criticalSystemReminder', 'baseDir', 'plugin'] as const).flatMap(
    (key) => list(key, definition[key] === undefined ? [] : [definition[key]]),
  )
  const flags = (['omitClaudeMd', 'appendSystemPrompt', 'isOneShot', 'isUnlisted'] as const).flatMap((key) =>
    list(key, definition[key] === true ? ['true'] : []),
  )
  return [
    ...list('aliases', aliases),
    ...list('skills', skills?.map(isThere(project.skills.map((skill) => skill.name)))),
    ...list(
      'mcpServers',
      mcpServers?.map((each) => (typeof each === 'string' ? shared(each) : `${each.name} (its own)`)),
    ),
    ...list('requiredMcpServers', requiredMcpServers),
    ...list(
      'hooks',
      hooks?.map(({ event, matcher }) => (matcher === undefined ? event : `${event} ${matcher}`)),
    ),
    ...list('memory', memory === undefined ? [] : [memory]),
    ...list('outputSchema', definition.outputSchema === undefined ? [] : ['yes']),
    ...plain,
    ...flags,
  ]
}

function linesOf(shown: Shown, project: Project, host: Host): readonly string[] {
  const { definition, spawn, pool, prompt, shadowed, diagnostics } = shown
  const colours = coloursFor(host.stdout, host.env)
  const painted = paintFor(definition.color, colours)
  const place = (each: AgentDefinition): string =>
    oneLine(`${sourceOf(each)}${each.filename === undefined ? '' : `, ${shownFile(each.filename, host)}`}`)
  const section = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : ['', colours.bold(title), ...lines.map((line) => `  ${line}`)]
  const why = (rule: string): string => colours.dim(`(${oneLine(rule)})`)
  const notes = [
    ...(spawn.kind === 'spawn' ? (spawn.plan.notes ?? []) : [{ code: spawn.code, message: spawn.message }]),
    ...pool.diagnostics,
    ...(pool.kind === 'refused' ? [pool] : []),
  ]
  return [
    `${colours.bold(painted(oneLine(definition.agentType)))}  ${place(definition)}`,
    oneLine(whenToUseOf(definition, { callerTools: [] }), MOST_CHARACTERS),
    ...section('What it comes to, started by the main agent with the defaults', [
      ...table(ruled(spawn).map(([name, { value, rule }]) => [name, oneLine(String(value)), why(rule)])),
    ]),
    ...section(`Tools ${why(`tools: ${toolsInWords(definition)}`)}`, [
      pool.kind === 'resolved' && pool.tools.length > 0
        ? pool.tools.map((tool) => oneLine(tool)).join(', ')
        : 'none',
      ...(pool.kind === 'resolved'
        ? [
            ...pool.only.map((rule) => `only ${oneLine(rule.text)}`),
            ...pool.deny.map((rule) => `never ${oneLine(rule.text)}`),
            ...(pool.allowedAgentTypes === undefined
              ? []
              : [`may start ${oneLine(pool.allowedAgentTypes.join(', ')) || 'no agents'}`]),
          ]
        : []),
      ...table(
        pool.dropped.map(({ tool, step, reason }) => [
          `without ${oneLine(tool)}`,
          `${step}: ${oneLine(reason)}`,
        ]),
      ),
    ]),
    ...section(
      'As it is written',
      table(
        written(definition, project).map(([name, value]) => {
          const shown = oneLine(value, MOST_CHARACTERS)
          return [name, name === 'color' ? painted(shown) : shown]
        }),
      ),
    ),
    ...section(`Prompt ${why(`${prompt.length} characters`)}`, startOf(prompt)),
    ...section('Others of this name, not in use', shadowed.map(place)),
    ...section(
      'Notes',
      [...notes, ...diagnostics].map(
        ({ code, message }) => `${oneLine(message)} ${colours.dim(`[${code}]`)}`,
      ),
    ),
  ]
}

function startOf(prompt: string): readonly string[] {
  const start = forTerminal(prompt.slice(0, MOST_CHARACTERS)).trimEnd().split('\n').slice(0, MOST_LINES)
  return start.join('\n').length < prompt.trimEnd().length ? [...start, '…'] : start
}

function jsonOf({
  definition,
  spawn,
  pool,
  prompt,
  shadowed,
  diagnostics,
}: Shown): Readonly<Record<string, unknown>> {
  const { getSystemPrompt: _prompt, whenToUse: _when, ...fields } = definition
  return {
    name: definition.agentType,
    source: definition.source,
    ...(definition.filename !== undefined && { file: definition.filename }),
    description: whenToUseOf(definition, { callerTools: [] }),
    definition: fields,
    ...(spawn.kind === 'spawn'
      ? { resolved: Object.fromEntries(ruled(spawn)), notes: spawn.plan.notes ?? [] }
      : { refused: { code: spawn.code, message: spawn.message } }),
    tools:
      pool.kind === 'resolved'
        ? {
            kept: pool.tools,
            dropped: pool.dropped,
            only: pool.only.map(({ text }) => text),
            deny: pool.deny.map(({ text }) => text),
            ...(pool.allowedAgentTypes !== undefined && { allowed_agent_types: pool.allowedAgentTypes }),
            notes: pool.diagnostics,
          }
        : {
            refused: { code: pool.code, message: pool.message },
            dropped: pool.dropped,
            notes: pool.diagnostics,
          },
    prompt: { characters: prompt.length, start: prompt.slice(0, MOST_CHARACTERS) },
    shadowed: shadowed.map(({ source, filename }) => ({
      source,
      ...(filename !== undefined && { file: filename }),
    })),
    diagnostics,
  }
}
