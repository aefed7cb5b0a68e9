/**
 * What an `Agent` call leads to, decided before anything is created: a pure function from input, definitions,
 * caller and policy to a plan or a refusal. The plan is what is logged; running it knows nothing of this file.
 *
 * The order is part of the contract, because the first refusal is the one that is told:
 *   1 teammate · 2 type · 3 fork guards · 4 definition, deny rules, allowed types · 5 MCP servers ·
 *   6 isolation · 7 foreground or background · 8 limits · 9 the plan
 * Steps 1, 3, 5, 6 and 7 come with what they are about.
 */
import type { AgentDefinition } from './agent-definition.ts'
import type { AgentInput } from './agent-tool.ts'
import { didYouMean } from './closest-name.ts'
import type { Limits } from './limits.ts'
import type { PermissionMode } from './permission-mode.ts'
import { findRule } from './permissions/match.ts'
import { type ResolvedMode, resolveChildMode } from './permissions/modes.ts'
import type { PermissionRule } from './permissions/rule.ts'
import { type ResolvedModel, resolveModel } from './resolve-model.ts'

/** The type that a call without `subagent_type` means. */
const DEFAULT_AGENT_TYPE = 'general-purpose'

/**
 * What an agent is about to be, each resolved value with the rule that decided it. An alias, not an interface:
 * only those are assignable to the log's schema, which keeps fields that it does not know.
 */
export type SpawnPlan = {
  readonly agentType: string
  readonly description: string
  readonly model: ResolvedModel
  readonly mode: ResolvedMode
  readonly maxTurns: { readonly value: number; readonly rule: string }
}

/** Why nothing was created. The message is for the model that called, and says what to do. */
export interface SpawnRefusal {
  readonly kind: 'refused'
  readonly code:
    | 'unknown-agent-type'
    | 'denied-by-rule'
    | 'agent-type-not-allowed'
    | 'depth-limit'
    | 'live-agents-limit'
    | 'spawns-limit'
  readonly message: string
}

/** Who calls, as of now. */
export interface SpawnCaller {
  /** 0 for the root. */
  readonly depth: number
  readonly mode: PermissionMode
  /** Id of the model it runs on; undefined where a host calls. */
  readonly model?: string | undefined
  /** From `Agent(a, b)` in its tools. */
  readonly allowedAgentTypes?: readonly string[] | undefined
}

/** What is in force for the session, as of now. */
export interface SpawnPolicy {
  readonly limits: Pick<Limits, 'depth' | 'liveAgents' | 'spawns' | 'childMaxTurns'>
  /** Agents alive at this moment, the caller included. */
  readonly live: number
  /** Children started in this session so far. */
  readonly spawns: number
  /** Deny rules in force for the caller; those that speak of `Agent` count. */
  readonly denyRules: readonly PermissionRule[]
  readonly resolveModelId: (name: string) => string
  /** Models that the host pins by the child's permission mode. */
  readonly modelByMode?: Readonly<Partial<Record<PermissionMode, string>>>
  /** Model name of a child that nothing else decides. Default `sonnet`. */
  readonly defaultModel?: string
}

/** Everything a decision looks at besides the input. */
export interface SpawnSituation {
  /** The active definitions. */
  readonly definitions: readonly AgentDefinition[]
  readonly caller: SpawnCaller
  readonly policy: SpawnPolicy
}

/** Routes one `Agent` call. */
export function routeSpawn(
  input: AgentInput,
  situation: SpawnSituation,
): { readonly kind: 'spawn'; readonly plan: SpawnPlan } | SpawnRefusal {
  const agentType = input.subagent_type?.trim() || DEFAULT_AGENT_TYPE
  const definition = situation.definitions.find((candidate) => candidate.agentType === agentType)
  if (definition === undefined) return unknownType(agentType, situation)
  const refusal = deniedType(agentType, situation) ?? overLimit(situation)
  return refusal ?? { kind: 'spawn', plan: planFor(input, definition, situation) }
}

/** The definitions that the caller may spawn: what it should be shown. */
export function spawnableDefinitions(situation: SpawnSituation): readonly AgentDefinition[] {
  return situation.definitions.filter(({ agentType }) => deniedType(agentType, situation) === undefined)
}

function unknownType(agentType: string, situation: SpawnSituation): SpawnRefusal {
  const types = spawnableDefinitions(situation).map((definition) => definition.agentType)
  const choice =
    types.length === 0
      ? 'No agents are available; do the work yourself.'
      : `Available are: ${types.join(', ')}.${didYouMean(agentType, types)}`
  return refused('unknown-agent-type', `There is no agent type "${agentType}". ${choice}`)
}

function deniedType(agentType: string, { caller, policy }: SpawnSituation): SpawnRefusal | undefined {
  // `cwd` plays no part for rules about agents.
  const rule = findRule(policy.denyRules, { toolName: 'Agent', subject: agentType, cwd: '/' }, 'deny')
  if (rule !== undefined)
    return refused(
      'denied-by-rule',
      `The agent type "${agentType}" is denied by the rule ${rule.text} (${rule.source}). Choose another type, or do the work yourself.`,
    )
  const { allowedAgentTypes } = caller
  if (allowedAgentTypes !== undefined && !allowedAgentTypes.includes(agentType))
    return refused(
      'agent-type-not-allowed',
      `You may not start agents of type "${agentType}". ${
        allowedAgentTypes.length === 0
          ? 'Your definition allows none; do the work yourself.'
          : `Your definition allows: ${allowedAgentTypes.join(', ')}.`
      }`,
    )
  return undefined
}

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

function planFor(
  input: AgentInput,
  definition: AgentDefinition,
  { caller, policy }: SpawnSituation,
): SpawnPlan {
  const mode = resolveChildMode(caller.mode, definition)
  const choices = {
    pin: policy.modelByMode?.[mode.value],
    argument: input.model,
    definition: definition.model,
    parent: caller.model,
    default: policy.defaultModel ?? 'sonnet',
  }
  return {
    agentType: definition.agentType,
    description: input.description.trim(),
    model: resolveModel(choices, policy.resolveModelId),
    mode,
    maxTurns:
      definition.maxTurns === undefined
        ? { value: policy.limits.childMaxTurns, rule: 'setting limits.childMaxTurns' }
        : { value: definition.maxTurns, rule: `definition ${definition.agentType}` },
  }
}

function refused(code: SpawnRefusal['code'], message: string): SpawnRefusal {
  return { kind: 'refused', code, message }
}
