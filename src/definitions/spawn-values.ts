/** The values of a plan that nothing can be refused for: model, mode, bounds, what is taken over from the caller. */
import type { AgentDefinition } from './agent-definition.ts'
import type { AgentInput } from './agent-tool.ts'
import { FORK } from './built-in/fork.ts'
import { didYouMean } from './closest-name.ts'
import type { Features } from './features.ts'
import type { PermissionMode } from './permission-mode.ts'
import { isNarrower, resolveChildMode } from './permissions/modes.ts'
import { type Resolved, resolve, resolveFirst } from './resolve.ts'
import { resolveModel } from './resolve-model.ts'
import type { PlanNote, SpawnPlan, SpawnSituation } from './spawn-situation.ts'

/** What a value came to, with notes about wishes that were not met. */
interface Decided<T> {
  readonly resolved: Resolved<T>
  readonly notes: readonly PlanNote[]
}

/** The mode of the child: never wider than its parent's, whatever the definition or the argument says. */
export function decideMode(
  definition: AgentDefinition,
  { caller, policy }: SpawnSituation,
  argument: PermissionMode | undefined,
): Decided<PermissionMode> {
  const own = definition.permissionMode
  const isStricter = own !== undefined && isNarrower(own, caller.mode)
  const inherited =
    policy.definitionsMayBeStricter === true && isStricter
      ? { value: own, rule: `definition ${definition.agentType}` }
      : resolveChildMode(caller.mode, definition)
  if (argument === undefined) return { resolved: inherited, notes: [] }
  if (!isNarrower(inherited.value, argument))
    return { resolved: { value: argument, rule: 'argument mode' }, notes: [] }
  const message = `The argument mode "${argument}" was ignored: it is wider than "${inherited.value}" (${inherited.rule}), and delegating gains no permission.`
  return { resolved: inherited, notes: [{ code: 'mode-argument-ignored', message }] }
}

/** The model: pin by mode, argument, definition, parent, default. A fork's is its parent's, for its cache. */
export function decideModel(
  input: Pick<AgentInput, 'model'>,
  definition: AgentDefinition,
  mode: PermissionMode,
  { caller, policy }: SpawnSituation,
  features: Features,
): Decided<string> {
  const isFork = definition === FORK
  const isIgnored = input.model !== undefined && (isFork || !features.modelArgument)
  const choices = isFork
    ? { parent: caller.model, default: policy.defaultModel ?? 'sonnet' }
    : {
        pin: policy.modelByMode?.[mode],
        argument: isIgnored ? undefined : input.model,
        definition: definition.model,
        parent: caller.model,
        default: policy.defaultModel ?? 'sonnet',
      }
  const resolved = resolveModel(choices, policy.resolveModelId)
  const why = isFork ? 'a fork runs on the model of its parent' : 'setting features.modelArgument is off'
  const ignored: PlanNote = {
    code: 'model-argument-ignored',
    message: `The argument model "${input.model}" was ignored: ${why}. The agent runs on ${resolved.value}.`,
  }
  const { knownModels } = policy
  const isUnknown = knownModels !== undefined && !knownModels.includes(resolved.value)
  const unknown: PlanNote = {
    code: 'model-unknown',
    message: `The model "${resolved.value}" (${resolved.rule}) is not among those that are known here; it is used as it is, and the provider may refuse it.${didYouMean(resolved.value, knownModels ?? [])}`,
  }
  return { resolved, notes: [...(isIgnored ? [ignored] : []), ...(isUnknown ? [unknown] : [])] }
}

/** How long the child may go on: what the host asked for, the definition, the setting. */
export function decideBounds(
  definition: AgentDefinition,
  { policy, hostChoices }: SpawnSituation,
): Pick<SpawnPlan, 'maxTurns' | 'tokens'> {
  const rule = `definition ${definition.agentType}`
  const tokens = resolveFirst([
    { rule: 'argument tokens', value: hostChoices?.tokens },
    { rule, value: definition.tokens },
  ])
  return {
    maxTurns: resolve(
      [
        { rule: 'argument maxTurns', value: hostChoices?.maxTurns },
        { rule, value: definition.maxTurns },
      ],
      { value: policy.limits.childMaxTurns, rule: 'setting limits.childMaxTurns' },
    ),
    ...(tokens !== undefined && { tokens }),
  }
}

/** What the child takes over from its caller besides model and mode. */
export function decideHeritage(
  input: Pick<AgentInput, 'cwd'>,
  definition: AgentDefinition,
  { caller }: SpawnSituation,
  features: Features,
): {
  readonly values: Pick<SpawnPlan, 'thinking' | 'effort' | 'conversation' | 'isFork' | 'cwd' | 'cwdRule'>
  readonly notes: readonly PlanNote[]
} {
  const isFork = definition === FORK
  const rule = `definition ${definition.agentType}`
  const base = definition.forksParentContext
  const isLeftOut = base !== undefined && !isFork && !features.parentContext
  const effort = resolveFirst([
    { rule, value: definition.effort },
    { rule: 'parent: a fork thinks as it does', value: isFork ? caller.effort : undefined },
  ])
  const cwd = resolveFirst([
    { rule: 'argument cwd', value: input.cwd },
    { rule: 'parent', value: caller.cwd },
  ])
  const note: PlanNote = {
    code: 'parent-context-not-available',
    message: `The ${rule} asks for its parent's conversation (forksParentContext), which is not available here (setting features.parentContext): the agent starts from its task alone.`,
  }
  return {
    values: {
      thinking: isFork
        ? { value: 'inherited', rule: 'a fork thinks as its parent does' }
        : { value: 'off', rule: 'default' },
      ...(effort !== undefined && { effort }),
      ...(isFork && { isFork }),
      ...(base !== undefined &&
        !isLeftOut && { conversation: { value: base === true ? ('all' as const) : base, rule } }),
      ...(cwd !== undefined && { cwd: cwd.value, cwdRule: cwd.rule }),
    },
    notes: isLeftOut ? [note] : [],
  }
}
