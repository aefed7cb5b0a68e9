/**
 * May a call run? One pure function from the call and the rules in force to allow, deny or ask.
 *
 * Owns: the order of deny rules, allow rules and modes, and the ceilings of ancestors. Does not own: asking a
 * person, hooks, the classifier; what becomes of `ask` is the engine's.
 *
 *   D1  A deny rule, own or of any ancestor, ends it.
 *   D2  `plan`, own or of any ancestor, lets nothing be changed, whatever is allowed by rule.
 *   D3  Then an allow rule lets it pass. Allow rules come from people and hosts, never from a model's text. So does
 *       the agent's own memory, which is there to be written.
 *   D4  Then the narrowest of the modes decides, own and ancestors'.
 *   D5  So more deny rules or ceilings never allow more, and the order of rules does not matter.
 */
import type { PermissionMode } from '../permission-mode.ts'
import { isSameTool } from '../tool-names.ts'
import { type CallFacts, findRule } from './match.ts'
import type { PermissionRule } from './rule.ts'

/** A call, as far as permissions see it. */
export interface PermissionRequest extends CallFacts {
  /** Changes nothing in the world. */
  readonly isReadOnly: boolean
  /** Every path that the call names lies in the working directory, symlinks followed. True when it names none. */
  readonly isInsideCwd: boolean
  /** The one path that the call names lies in the agent's own memory, symlinks followed. */
  readonly isInMemory?: boolean
}

/** What an ancestor imposes on all its descendants, read live at each decision. */
export interface Ceiling {
  /** Who, for messages. */
  readonly agent: string
  readonly mode: PermissionMode
  /** Its inheritable deny rules. */
  readonly deny: readonly PermissionRule[]
}

/** What is in force for one agent. */
export interface PermissionPolicy {
  readonly mode: PermissionMode
  readonly allow: readonly PermissionRule[]
  readonly deny: readonly PermissionRule[]
  /** When given, calls of these tools must match one of the tool's rules: `tools: Bash(git log:*)` in a definition. */
  readonly only?: readonly PermissionRule[]
  /** Of every ancestor, in any order. */
  readonly ceilings: readonly Ceiling[]
}

/** What was decided, by what (a rule's text or a mode's name), and why in one sentence. */
export interface PermissionDecision {
  readonly decision: 'allow' | 'deny' | 'ask'
  readonly by: string
  readonly reason: string
}

/** Decides one call. Later steps have their place: ask rules before allow rules, the classifier in `auto`. */
export function decide(request: PermissionRequest, policy: PermissionPolicy): PermissionDecision {
  return (
    deniedByRule(request, policy) ??
    deniedByDefinition(request, policy) ??
    deniedByPlan(request, policy) ??
    allowedByRule(request, policy) ??
    allowedInMemory(request) ??
    decidedByMode(request, policy)
  )
}

/** The ceiling that an agent with this policy is to its descendants (its own ceilings go down beside it). */
export function ceilingOf(agent: string, policy: PermissionPolicy): Ceiling {
  return { agent, mode: policy.mode, deny: policy.deny.filter((rule) => rule.inheritable) }
}

function deniedByRule(request: PermissionRequest, policy: PermissionPolicy): PermissionDecision | undefined {
  const own = findRule(policy.deny, request, 'deny')
  if (own !== undefined)
    return { decision: 'deny', by: own.text, reason: `the deny rule ${own.text} (${own.source}) forbids it` }
  for (const { agent, deny } of policy.ceilings) {
    const rule = findRule(deny, request, 'deny')
    if (rule !== undefined)
      return {
        decision: 'deny',
        by: rule.text,
        reason: `the deny rule ${rule.text} (${rule.source}) of ${agent}, an ancestor, forbids it`,
      }
  }
  return undefined
}

function deniedByDefinition(
  request: PermissionRequest,
  policy: PermissionPolicy,
): PermissionDecision | undefined {
  const bounds = (policy.only ?? []).filter((rule) => isSameTool(rule.toolName, request.toolName))
  if (bounds.length === 0 || findRule(bounds, request, 'allow') !== undefined) return undefined
  const texts = bounds.map((rule) => rule.text).join(', ')
  return { decision: 'deny', by: texts, reason: `the agent's definition limits it to ${texts}` }
}

function deniedByPlan(request: PermissionRequest, policy: PermissionPolicy): PermissionDecision | undefined {
  if (request.isReadOnly) return undefined
  const planner = modesOf(policy).find(({ mode }) => mode === 'plan')
  if (planner === undefined) return undefined
  return {
    decision: 'deny',
    by: 'plan',
    reason: `permission mode "plan"${planner.whose} lets nothing be changed`,
  }
}

function allowedByRule(request: PermissionRequest, policy: PermissionPolicy): PermissionDecision | undefined {
  const rule = findRule(policy.allow, request, 'allow')
  if (rule === undefined) return undefined
  return {
    decision: 'allow',
    by: rule.text,
    reason: `the allow rule ${rule.text} (${rule.source}) permits it`,
  }
}

function allowedInMemory({ isInMemory }: PermissionRequest): PermissionDecision | undefined {
  if (isInMemory !== true) return undefined
  return { decision: 'allow', by: 'memory', reason: "it is in the agent's own memory" }
}

const WIDTH = { deny: 0, ask: 1, allow: 2 } as const

function decidedByMode(request: PermissionRequest, policy: PermissionPolicy): PermissionDecision {
  const [own, ...others] = modesOf(policy).map((holder) => ({
    ...holder,
    decision: decisionOfMode(holder.mode, request),
  }))
  // The list starts with the agent's own mode.
  if (own === undefined) throw new Error('a permission policy without a mode')
  const { mode, whose, decision } = others.reduce(
    (narrowest, next) => (WIDTH[next.decision] < WIDTH[narrowest.decision] ? next : narrowest),
    own,
  )
  const says = { allow: 'permits it', ask: 'asks for approval', deny: 'refuses what no rule allows' }[
    decision
  ]
  return { decision, by: mode, reason: `permission mode "${mode}"${whose} ${says}` }
}

function decisionOfMode(mode: PermissionMode, request: PermissionRequest): PermissionDecision['decision'] {
  const isHarmless = request.isReadOnly && request.isInsideCwd
  switch (mode) {
    case 'bypassPermissions':
      return 'allow'
    case 'acceptEdits':
      return isHarmless || (request.writesPath !== undefined && request.isInsideCwd) ? 'allow' : 'ask'
    case 'dontAsk':
      return isHarmless ? 'allow' : 'deny'
    // In `plan` only reading is left here (D2). `auto` and `bubble` decide as `default` until they are whole.
    case 'plan':
    case 'default':
    case 'auto':
    case 'bubble':
      return isHarmless ? 'allow' : 'ask'
  }
}

function modesOf(
  policy: PermissionPolicy,
): readonly { readonly mode: PermissionMode; readonly whose: string }[] {
  return [
    { mode: policy.mode, whose: '' },
    ...policy.ceilings.map(({ agent, mode }) => ({ mode, whose: ` of ${agent}, an ancestor,` })),
  ]
}
