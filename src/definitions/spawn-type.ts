/** Which definition an `Agent` call means, and whether the caller may start it. */
import type { AgentDefinition } from './agent-definition.ts'
import type { AgentInput } from './agent-tool.ts'
import { FORK } from './built-in/fork.ts'
import { WORKER } from './built-in/worker.ts'
import { didYouMean } from './closest-name.ts'
import { DEFAULT_FEATURES, type Features } from './features.ts'
import { findRule } from './permissions/match.ts'
import { refused, type SpawnRefusal, type SpawnSituation } from './spawn-situation.ts'

/** The type that a call without `subagent_type` means. */
const DEFAULT_AGENT_TYPE = 'general-purpose'

/** The features in force for a decision. */
export function featuresOf({ policy }: Pick<SpawnSituation, 'policy'>): Features {
  return { ...DEFAULT_FEATURES, ...policy.features }
}

/** The definition that a name means: its type, else an alias. Case counts, so that a name has one meaning. */
export function findDefinition(
  name: string,
  definitions: readonly AgentDefinition[],
): AgentDefinition | undefined {
  return (
    definitions.find(({ agentType }) => agentType === name) ??
    definitions.find(({ aliases }) => aliases?.includes(name))
  )
}

/** Steps 2 to 4: the definition that is meant, or why there is none for this caller. */
export function chooseDefinition(
  input: AgentInput,
  situation: SpawnSituation,
): { readonly kind: 'chosen'; readonly definition: AgentDefinition } | SpawnRefusal {
  const definition = meantDefinition(input, situation)
  const { caller } = situation
  // Two guards that fail on their own: one survives compaction, the other a log without the mark.
  if (definition === FORK && (caller.isFork === true || caller.hasForkDirective === true))
    return refused(
      'fork-in-fork',
      'You are a forked worker, and a fork starts no forks. Do the work yourself with your tools, and report what you could not do.',
    )
  if (definition === undefined) return unknownType(wantedName(input, situation), situation)
  return deniedType(definition, situation) ?? { kind: 'chosen', definition }
}

/** The definitions that the caller may spawn: what it should be shown. */
export function spawnableDefinitions(situation: SpawnSituation): readonly AgentDefinition[] {
  return activeDefinitions(situation).filter(
    (definition) => definition.isUnlisted !== true && deniedType(definition, situation) === undefined,
  )
}

/** In coordinator mode `worker` replaces the others. */
function activeDefinitions(situation: SpawnSituation): readonly AgentDefinition[] {
  const { definitions } = situation
  if (!featuresOf(situation).coordinator) return definitions
  return [findDefinition(WORKER.agentType, definitions) ?? WORKER]
}

function meantDefinition(input: AgentInput, situation: SpawnSituation): AgentDefinition | undefined {
  const name = wantedName(input, situation)
  const isNamed = name === input.subagent_type?.trim()
  const found = findDefinition(name, activeDefinitions(situation))
  // A person's own definition called "fork" is what its name means; a call without a type is not it.
  if (name === FORK.agentType && isForkPossible(situation)) return isNamed ? (found ?? FORK) : FORK
  return found
}

function wantedName(input: AgentInput, situation: SpawnSituation): string {
  const given = input.subagent_type?.trim()
  if (given !== undefined && given !== '') return given
  if (isForkPossible(situation)) return FORK.agentType
  return featuresOf(situation).coordinator ? WORKER.agentType : DEFAULT_AGENT_TYPE
}

/** A host has no conversation that a fork could go on from. */
function isForkPossible(situation: SpawnSituation): boolean {
  const { fork, coordinator } = featuresOf(situation)
  return fork && !coordinator && situation.caller.depth >= 0
}

function unknownType(agentType: string, situation: SpawnSituation): SpawnRefusal {
  const spawnable = spawnableDefinitions(situation)
  const types = spawnable.map((definition) => definition.agentType)
  const names = spawnable.flatMap((definition) => [definition.agentType, ...(definition.aliases ?? [])])
  const choice =
    types.length === 0
      ? 'No agents are available; do the work yourself.'
      : `Available are: ${types.join(', ')}.${didYouMean(agentType, names)}`
  return refused('unknown-agent-type', `There is no agent type "${agentType}". ${choice}`)
}

function deniedType(definition: AgentDefinition, situation: SpawnSituation): SpawnRefusal | undefined {
  const { caller, policy } = situation
  const { agentType, aliases = [] } = definition
  for (const subject of [agentType, ...aliases]) {
    // `cwd` plays no part for rules about agents.
    const rule = findRule(policy.denyRules, { toolName: 'Agent', subject, cwd: '/' }, 'deny')
    if (rule !== undefined)
      return refused(
        'denied-by-rule',
        `The agent type "${agentType}" is denied by the rule ${rule.text} (${rule.source}). Choose another type, or do the work yourself.`,
      )
  }
  const { allowedAgentTypes } = caller
  if (allowedAgentTypes === undefined || allowedAgentTypes.some((name) => means(name, definition, situation)))
    return undefined
  return refused(
    'agent-type-not-allowed',
    `You may not start agents of type "${agentType}". ${
      allowedAgentTypes.length === 0
        ? 'Your definition allows none; do the work yourself.'
        : `Your definition allows: ${allowedAgentTypes.join(', ')}.`
    }`,
  )
}

/** Does the name in `Agent(…)` mean this definition? People write it by hand, so case is forgiven where it is clear. */
function means(name: string, definition: AgentDefinition, situation: SpawnSituation): boolean {
  const found = findDefinition(name, activeDefinitions(situation))
  if (found !== undefined) return found === definition
  const wanted = name.toLowerCase()
  return [definition.agentType, ...(definition.aliases ?? [])].some((own) => own.toLowerCase() === wanted)
}
