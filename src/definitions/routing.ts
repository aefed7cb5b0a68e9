/**
 * What an `Agent` call leads to, decided before anything is created: a pure function from input, definitions,
 * caller and policy to a plan or a refusal. The plan is what is logged; running it knows nothing of this file.
 *
 *   R1  The order is part of the contract, because the first refusal is the one that is told: 1 teammate · 2 type ·
 *       3 fork guards · 4 definition, deny rules, allowed types · 5 MCP servers · 6 isolation ·
 *       7 foreground or background · 8 limits · 9 the plan.
 *   R2  Every refusal says what to do instead.
 *   R3  What is switched off is refused where the caller asked for it, and left out with a note where a definition
 *       did: the caller can ask differently, a definition cannot.
 *   R4  Equal inputs give equal plans; nothing here reads a clock, a file or the environment.
 *   R5  No plan is wider than its caller in mode; tools are the pool's matter.
 */
import type { AgentDefinition } from './agent-definition.ts'
import { nameProblem } from './agent-name.ts'
import type { AgentInput } from './agent-tool.ts'
import { checkMcpRequirement } from './mcp-requirement.ts'
import { placeBackground, placeIsolation } from './spawn-place.ts'
import {
  type PlanNote,
  refused,
  type SpawnPlan,
  type SpawnRefusal,
  type SpawnSituation,
} from './spawn-situation.ts'
import { chooseDefinition, featuresOf } from './spawn-type.ts'
import { decideBounds, decideHeritage, decideMode, decideModel } from './spawn-values.ts'

export type {
  SpawnCaller,
  SpawnPlan,
  SpawnPolicy,
  SpawnRefusal,
  SpawnSituation,
} from './spawn-situation.ts'
export { spawnableDefinitions } from './spawn-type.ts'

/** What a call leads to. */
export type RoutedSpawn = { readonly kind: 'spawn'; readonly plan: SpawnPlan } | SpawnRefusal

/** Routes one `Agent` call. */
export function routeSpawn(input: AgentInput, situation: SpawnSituation): RoutedSpawn {
  const features = featuresOf(situation)
  const seat = seatOf(input, situation)
  if (seat.kind === 'refused') return seat
  const chosen = chooseDefinition(input, situation)
  if (chosen.kind === 'refused') return chosen
  const { definition } = chosen
  const servers = serversFor(definition, situation)
  if (servers.kind === 'refused') return servers
  const isolation = placeIsolation(input, definition, features)
  if (isolation.kind === 'refused') return isolation
  const background = placeBackground(input, definition, situation.caller, features)
  if (background.kind === 'refused') return background
  const limit = overLimit(situation)
  if (limit !== undefined) return limit

  const mode = decideMode(definition, situation, seat.team === undefined ? undefined : input.mode)
  const model = decideModel(input, definition, mode.resolved.value, situation, features)
  const heritage = decideHeritage(input, definition, situation, features)
  const notes = [
    ...seat.notes,
    ...isolation.notes,
    ...background.notes,
    ...mode.notes,
    ...model.notes,
    ...heritage.notes,
  ]
  const plan: SpawnPlan = {
    agentType: definition.agentType,
    description: input.description.trim(),
    model: model.resolved,
    mode: mode.resolved,
    ...decideBounds(definition, situation),
    isolation: isolation.resolved,
    background: background.resolved,
    ...heritage.values,
    ...(seat.name !== undefined && { name: seat.name }),
    ...(seat.team !== undefined && { team: seat.team }),
    ...(servers.parts.length > 0 && { awaitMcp: servers.parts }),
    ...(notes.length > 0 && { notes }),
  }
  return { kind: 'spawn', plan }
}

/** Step 1: is it a teammate, an agent with a name, or neither? */
function seatOf(
  input: Pick<AgentInput, 'team_name' | 'name' | 'mode'>,
  situation: SpawnSituation,
):
  | {
      readonly kind: 'seat'
      readonly name?: string | undefined
      readonly team?: string | undefined
      readonly notes: readonly PlanNote[]
    }
  | SpawnRefusal {
  const { caller } = situation
  const given = (['team_name', 'name', 'mode'] as const).filter((field) => input[field] !== undefined)
  if (given.length === 0) return { kind: 'seat', notes: [] }
  const problem = input.name === undefined ? undefined : nameProblem(input.name.trim())
  if (problem !== undefined)
    return refused(
      'agent-name-unusable',
      `The name ${JSON.stringify(input.name)} cannot be used: ${problem}. Call Agent again with another \`name\`, or without.`,
    )
  const features = featuresOf(situation)
  const isOnlyNamed = input.team_name === undefined && input.mode === undefined
  if (
    isOnlyNamed &&
    features.names &&
    features.background &&
    !features.teams &&
    caller.teammate === undefined
  )
    return { kind: 'seat', name: input.name?.trim(), notes: [] }
  const fields = given.map((field) => `\`${field}\``).join(', ')
  if (!features.teams)
    return refused(
      'teams-off',
      `Teams are off here (setting features.teams), so ${fields} cannot be used. Call Agent again without: the agent's report comes back as the result of the call.`,
    )
  if (caller.teammate !== undefined)
    return refused(
      'team-roster-flat',
      `You are a teammate, and only the lead brings teammates in, so ${fields} cannot be used. Call Agent again without to start an agent of your own, or ask the lead with SendMessage.`,
    )
  const name = input.name?.trim()
  const team = input.team_name?.trim() ?? caller.team
  if (input.team_name !== undefined && name === undefined)
    return refused(
      'teammate-without-name',
      `A teammate of "${team}" needs a name by which the others reach it. Call Agent again with \`name\`, or without \`team_name\` for an agent that only reports to you.`,
    )
  const isTeammate = name !== undefined && team !== undefined
  const message = `The argument mode "${input.mode}" was ignored: it is for teammates, and this agent joins no team.`
  return {
    kind: 'seat',
    name,
    team: isTeammate ? team : undefined,
    notes: input.mode !== undefined && !isTeammate ? [{ code: 'mode-argument-ignored', message }] : [],
  }
}

/** Step 5. What a definition's own servers bring need not be there yet: they start with the agent. */
function serversFor(
  { agentType, requiredMcpServers = [], mcpServers = [] }: AgentDefinition,
  situation: SpawnSituation,
): { readonly kind: 'servers'; readonly parts: readonly string[] } | SpawnRefusal {
  const own = mcpServers.flatMap((server) => (typeof server === 'string' ? [] : [server.name.toLowerCase()]))
  const required = requiredMcpServers.filter(
    (part) => !own.some((name) => name.includes(part.trim().toLowerCase())),
  )
  const requirement = checkMcpRequirement(agentType, required, situation.mcpServers ?? [])
  switch (requirement.kind) {
    case 'ready':
      return { kind: 'servers', parts: [] }
    case 'pending':
      return { kind: 'servers', parts: requirement.parts }
    case 'missing':
      return refused('mcp-servers-missing', requirement.message)
  }
}

/** Step 8. */
function overLimit({ caller, policy }: SpawnSituation): SpawnRefusal | undefined {
  const { limits, live, spawns } = policy
  if (caller.depth + 1 > limits.depth)
    return refused(
      'depth-limit',
      `Delegation goes ${limits.depth} deep (setting limits.depth) and you are at depth ${caller.depth}, so you cannot start agents. Do the work yourself.`,
    )
  if (live >= limits.liveAgents)
    return refused(
      'live-agents-limit',
      `${live} agents are running, and ${limits.liveAgents} may run at once (setting limits.liveAgents). Wait for one to end and call again, or do the work yourself.`,
    )
  if (spawns >= limits.spawns)
    return refused(
      'spawns-limit',
      `This session has started ${spawns} agents, and ${limits.spawns} is its limit (setting limits.spawns). No more can be started in it: do the rest yourself, or tell the user to raise the setting.`,
    )
  return undefined
}
