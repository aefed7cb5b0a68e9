/**
 * May a call run? One pure function from the call and the rules in force to allow, deny, ask or classify.
 *
 * Owns: the order of rules and modes, and the ceilings of ancestors. Does not own: asking a person, hooks, the
 * classifier; what becomes of `ask` and `classify` is the engine's.
 *
 *   D1  A deny rule, own or of any ancestor, ends it. So does what the definition, or the tree, has no tool for.
 *   D2  `plan`, own or of any ancestor, lets nothing be changed, whatever is allowed by rule.
 *   D3  An ask rule, own or of any ancestor, beats allow rules and modes. Where nobody is to be asked (`dontAsk`),
 *       it refuses.
 *   D4  Then an allow rule lets it pass. Allow rules come from people and hosts, never from a model's text. So does
 *       the agent's own memory, which is there to be written.
 *   D5  Then the narrowest of the modes decides, own and ancestors'.
 *   D6  So more deny rules, ask rules or ceilings never allow more, and the order of rules does not matter.
 */
import type { PermissionMode } from '../permission-mode.ts'
import { isSameTool } from '../tool-names.ts'
import { type CallFacts, findRule, rulesThatAllow } from './match.ts'
import type { PermissionRule } from './rule.ts'

/** A call, as far as permissions see it. */
export interface PermissionRequest extends CallFacts {
  /** Changes nothing in the world. */
  readonly isReadOnly: boolean
  /** Every path that the call names lies in a working directory, symlinks followed. True when it names none. */
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
  /** Its inheritable ask rules. */
  readonly ask?: readonly PermissionRule[]
  /** When given, nothing but calls that one of these rules allows: the tools of the tree. */
  readonly only?: readonly PermissionRule[]
  /** Its working directory, absolute: relative paths in its rules are read from there too. */
  readonly cwd?: string
}

/** What is in force for one agent. */
export interface PermissionPolicy {
  readonly mode: PermissionMode
  readonly allow: readonly PermissionRule[]
  readonly deny: readonly PermissionRule[]
  readonly ask?: readonly PermissionRule[]
  /** When given, calls of these tools must match one of the tool's rules: `tools: Bash(git log:*)` in a definition. */
  readonly only?: readonly PermissionRule[]
  /** Of every ancestor, in any order. */
  readonly ceilings: readonly Ceiling[]
}

/** What was decided, by what (texts of rules or a mode's name), and why in one sentence. */
export interface PermissionDecision {
  /** `classify`: whoever runs the classifier asks it; `ask` is the next best. */
  readonly decision: 'allow' | 'deny' | 'ask' | 'classify'
  readonly by: string
  readonly reason: string
  /** The rule that decided, where one did. Of several that allow a command line together, the first. */
  readonly rule?: PermissionRule
}

/** Decides one call. */
export function decide(request: PermissionRequest, policy: PermissionPolicy): PermissionDecision {
  return (
    deniedByRule(request, policy) ??
    deniedByDefinition(request, policy) ??
    deniedByTree(request, policy) ??
    deniedByPlan(request, policy) ??
    askedByRule(request, policy) ??
    allowedByRule(request, policy) ??
    allowedInMemory(request) ??
    decidedByMode(request, policy)
  )
}

/**
 * The ceiling that an agent with this policy is to its descendants (its own ceilings go down beside it).
 * `cwd` is the agent's. Lists of rules that did not change give lists that are the same.
 */
export function ceilingOf(agent: string, policy: PermissionPolicy, cwd?: string): Ceiling {
  const { mode, deny, ask } = policy
  return {
    agent,
    mode,
    deny: inheritableOf(deny),
    ...(ask !== undefined && ask.length > 0 && { ask: inheritableOf(ask) }),
    ...(cwd !== undefined && { cwd }),
  }
}

const inheritable = new WeakMap<readonly PermissionRule[], readonly PermissionRule[]>()

/** Kept, so that what is made ready for the list (`match.ts`) is made once. */
function inheritableOf(rules: readonly PermissionRule[]): readonly PermissionRule[] {
  const known = inheritable.get(rules)
  if (known !== undefined) return known
  const marked = rules.every((rule) => rule.inheritable) ? rules : rules.filter((rule) => rule.inheritable)
  inheritable.set(rules, marked)
  return marked
}

function deniedByRule(request: PermissionRequest, policy: PermissionPolicy): PermissionDecision | undefined {
  const found = ruleAmong(request, policy, 'deny')
  if (found === undefined) return undefined
  const { rule, whose } = found
  return {
    decision: 'deny',
    by: rule.text,
    reason: `the deny rule ${rule.text} (${rule.source})${whose} forbids it`,
    rule,
  }
}

/** The first deny or ask rule that matches, own or of an ancestor. */
function ruleAmong(
  request: PermissionRequest,
  policy: PermissionPolicy,
  kind: 'deny' | 'ask',
): { readonly rule: PermissionRule; readonly whose: string } | undefined {
  const own = findRule(policy[kind] ?? [], request, kind)
  if (own !== undefined) return { rule: own, whose: '' }
  for (const ceiling of policy.ceilings) {
    const rule = findRule(ceiling[kind] ?? [], request, kind, ceiling.cwd)
    if (rule !== undefined) return { rule, whose: ` of ${ceiling.agent}, an ancestor,` }
  }
  return undefined
}

function deniedByDefinition(
  request: PermissionRequest,
  policy: PermissionPolicy,
): PermissionDecision | undefined {
  const bounds = boundsOf(policy.only ?? [], request.toolName)
  if (bounds.length === 0 || rulesThatAllow(bounds, request) !== undefined) return undefined
  const texts = bounds.map((rule) => rule.text).join(', ')
  return { decision: 'deny', by: texts, reason: `the agent's definition limits it to ${texts}` }
}

const bounds = new WeakMap<readonly PermissionRule[], Map<string, readonly PermissionRule[]>>()

/** The rules for one tool, kept as {@link inheritableOf} keeps them. */
function boundsOf(only: readonly PermissionRule[], toolName: string): readonly PermissionRule[] {
  const ofTools = bounds.get(only) ?? new Map<string, readonly PermissionRule[]>()
  bounds.set(only, ofTools)
  const known = ofTools.get(toolName)
  if (known !== undefined) return known
  const found = only.filter((rule) => isSameTool(rule.toolName, toolName))
  ofTools.set(toolName, found)
  return found
}

function deniedByTree(request: PermissionRequest, policy: PermissionPolicy): PermissionDecision | undefined {
  const ceiling = policy.ceilings.find(
    ({ only }) => only !== undefined && rulesThatAllow(only, request) === undefined,
  )
  if (ceiling === undefined) return undefined
  const texts = (ceiling.only ?? []).map((rule) => rule.text).join(', ')
  return {
    decision: 'deny',
    by: texts === '' ? 'no tools' : texts,
    reason: `${ceiling.agent}, an ancestor, limits its tree to ${texts === '' ? 'no tools' : texts}`,
  }
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

function askedByRule(request: PermissionRequest, policy: PermissionPolicy): PermissionDecision | undefined {
  const found = ruleAmong(request, policy, 'ask')
  if (found === undefined) return undefined
  const { rule, whose } = found
  const wants = `the ask rule ${rule.text} (${rule.source})${whose} wants approval for it`
  const silent = modesOf(policy).find(({ mode }) => mode === 'dontAsk')
  if (silent === undefined) return { decision: 'ask', by: rule.text, reason: wants, rule }
  const reason = `${wants}, and permission mode "dontAsk"${silent.whose} asks nobody`
  return { decision: 'deny', by: rule.text, reason, rule }
}

function allowedByRule(request: PermissionRequest, policy: PermissionPolicy): PermissionDecision | undefined {
  const rules = rulesThatAllow(policy.allow, request)
  const [rule, ...others] = rules ?? []
  if (rule === undefined) return undefined
  const texts = [rule, ...others].map(({ text }) => text).join(', ')
  const named = [rule, ...others].map(({ text, source }) => `${text} (${source})`).join(', ')
  return {
    decision: 'allow',
    by: texts,
    reason: others.length === 0 ? `the allow rule ${named} permits it` : `the allow rules ${named} permit it`,
    rule,
  }
}

function allowedInMemory({ isInMemory }: PermissionRequest): PermissionDecision | undefined {
  if (isInMemory !== true) return undefined
  return { decision: 'allow', by: 'memory', reason: "it is in the agent's own memory" }
}

const WIDTH = { deny: 0, ask: 1, classify: 2, allow: 3 } as const

const SAYS: Readonly<Record<PermissionDecision['decision'], string>> = {
  allow: 'permits it',
  ask: 'asks for approval',
  classify: 'has a classifier judge it',
  deny: 'refuses what no rule allows',
}

function decidedByMode(request: PermissionRequest, policy: PermissionPolicy): PermissionDecision {
  const [own, ...others] = modesOf(policy).map(({ mode, whose }) => ({
    mode,
    whose,
    decision: decisionOfMode(mode, request),
  }))
  // The list starts with the agent's own mode.
  if (own === undefined) throw new Error('a permission policy without a mode')
  const { mode, whose, decision } = others.reduce(
    (narrowest, next) => (WIDTH[next.decision] < WIDTH[narrowest.decision] ? next : narrowest),
    own,
  )
  return { decision, by: mode, reason: `permission mode "${mode}"${whose} ${SAYS[decision]}` }
}

function decisionOfMode(mode: PermissionMode, request: PermissionRequest): PermissionDecision['decision'] {
  const isHarmless = request.isReadOnly && request.isInsideCwd
  switch (mode) {
    case 'bypassPermissions':
      return 'allow'
    case 'acceptEdits':
      return isHarmless || (request.writesPath !== undefined && request.isInsideCwd) ? 'allow' : 'ask'
    case 'auto':
      return isHarmless ? 'allow' : 'classify'
    case 'dontAsk':
      return isHarmless ? 'allow' : 'deny'
    // In `plan` only reading is left here (D2). Where the prompts of `bubble` are shown is the engine's.
    case 'plan':
    case 'default':
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
