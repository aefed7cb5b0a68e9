/**
 * Do rules speak of a call? Allow rules only where that is certain, deny and ask rules wherever it could be.
 *
 * Lists of rules are made ready once, for each tool and place that they are asked about, and kept as long as the
 * list itself: so a list should stay the same object while it stays the same.
 */
import {
  canonicalToolName,
  coversMcpTool,
  isSameTool,
  isToolAmong,
  READING_TOOLS,
  WRITING_TOOLS,
} from '../tool-names.ts'
import { coversAddress, domainOf } from './domain.ts'
import { type PathIndex, pathIndex } from './path-index.ts'
import { type PathMatcher, type PathNames, pathMatcher, pathNames } from './path-pattern.ts'
import { agentTypesOf, commandOf, type PermissionRule, type RuleKind, specifierKind } from './rule.ts'
import { isWide } from './rule-kind.ts'
import {
  type DeniedRule,
  type DeniedRules,
  deniedCommand,
  deniedRules,
  findDenied,
} from './shell/could-run.ts'
import { type CommandPattern, type CommandRules, commandPattern, coveringRules } from './shell/covers.ts'
import { readPlainShell } from './shell/read-shell.ts'
import type { ShellReading } from './shell/reading.ts'
import { matchesWildcard } from './wildcard.ts'

/** What rules are matched against. */
export interface CallFacts {
  readonly toolName: string
  /** The command of Bash, the path of a file tool, the type of an `Agent` call, the name of a skill, an address. */
  readonly subject?: string | undefined
  /** The command of Bash as read by `readShell`. Without it only plain commands are understood. */
  readonly shell?: ShellReading | undefined
  /** The path that the call writes to. */
  readonly writesPath?: string | undefined
  /** Where the path leads once symlinks are followed. A deny rule on either stops the call; an allow rule needs both. */
  readonly resolvedPath?: string | undefined
  /** Absolute. */
  readonly cwd: string
  /** Absolute, for `~` in rules. */
  readonly home?: string | undefined
}

/** Does the rule, used in this way, match the call by itself? */
export function matchesRule(rule: PermissionRule, call: CallFacts, kind: RuleKind): boolean {
  return kind === 'allow'
    ? rulesThatAllow([rule], call) !== undefined
    : findRule([rule], call, kind) !== undefined
}

/**
 * The first deny or ask rule that matches; which of several does not change the decision, only its explanation.
 * `also`: a folder that relative paths may start from besides the call's, as that of the ancestor whose rules they are.
 */
export function findRule(
  rules: readonly PermissionRule[],
  call: CallFacts,
  kind: Exclude<RuleKind, 'allow'>,
  also?: string,
): PermissionRule | undefined {
  if (rules.length === 0) return undefined
  const ready = readyRules(rules, call.toolName, kind)
  if (ready.whole !== undefined) return ready.whole
  switch (ready.specifiers) {
    case 'command':
      return findDenied(ready.denied, readingOf(call))
    case 'path': {
      const index = ready.paths(call, also)
      for (const path of pathsOf(call, kind))
        for (const { rule, matcher } of index(path)) if (matcher.covers(path)) return rule
      return undefined
    }
    case 'agent':
    case 'skill':
    case 'domain':
    case 'unknown':
      return ready.special.find((rule) => matchesName(rule, call.subject, kind))
  }
}

/** The allow rules that together let the call pass: one, but for a command line of several commands. */
export function rulesThatAllow(
  rules: readonly PermissionRule[],
  call: CallFacts,
): readonly PermissionRule[] | undefined {
  if (rules.length === 0) return undefined
  const ready = readyRules(rules, call.toolName, 'allow')
  if (ready.whole !== undefined) return [ready.whole]
  switch (ready.specifiers) {
    case 'command':
      return ready.commands.size === 0 ? undefined : coveringRules(ready.commands, readingOf(call))
    case 'path': {
      const paths = pathsOf(call, 'allow')
      const [first] = paths
      if (first === undefined) return undefined
      const candidates = [...ready.paths(call)(first)]
      return single(candidates.find(({ matcher }) => paths.every((path) => matcher.covers(path)))?.rule)
    }
    case 'agent':
    case 'skill':
    case 'domain':
    case 'unknown':
      return single(ready.special.find((rule) => matchesName(rule, call.subject, 'allow')))
  }
}

function single<T>(item: T | undefined): readonly T[] | undefined {
  return item === undefined ? undefined : [item]
}

function readingOf({ shell, subject }: CallFacts): ShellReading {
  if (shell !== undefined) return shell
  return subject === undefined ? { kind: 'unclear', reason: 'it is not known' } : readPlainShell(subject)
}

/** The rules of a list that speak of one tool, made ready. */
interface ReadyRules {
  /** A rule for the whole tool: it matches every call. */
  readonly whole: PermissionRule | undefined
  readonly specifiers: ReturnType<typeof specifierKind>
  /** Those with a specifier. */
  readonly special: readonly PermissionRule[]
  readonly commands: CommandRules<PermissionRule>
  readonly denied: DeniedRules<PermissionRule>
  paths(
    call: Pick<CallFacts, 'cwd' | 'home'>,
    also?: string,
  ): PathIndex<{ readonly rule: PermissionRule; readonly matcher: PathMatcher }>
}

const readyLists = new WeakMap<readonly PermissionRule[], Map<string, ReadyRules>>()
/** Tools, and places, for which lists are kept ready. More than any session has; a bound all the same. */
const MAX_KEPT = 200

function kept<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  if (map.size >= MAX_KEPT) map.clear()
  const made = make()
  map.set(key, made)
  return made
}

function readyRules(rules: readonly PermissionRule[], toolName: string, kind: RuleKind): ReadyRules {
  let tools = readyLists.get(rules)
  if (tools === undefined) {
    tools = new Map()
    readyLists.set(rules, tools)
  }
  return kept(tools, `${kind} ${toolName}`, () => makeReady(rules, toolName, kind))
}

function makeReady(rules: readonly PermissionRule[], toolName: string, kind: RuleKind): ReadyRules {
  const speaking = rules.filter((rule) => speaksOfTool(rule, toolName, kind))
  const specifiers = specifierKind(canonicalToolName(toolName))
  const isSpecial = (rule: PermissionRule): boolean =>
    rule.specifier !== undefined && specifierKind(rule.toolName) === specifiers
  // What the brackets of another tool say, as in `*(x)`, is not understood here: in doubt it is the whole tool.
  const isWhole = (rule: PermissionRule): boolean =>
    rule.specifier === undefined || (isWide(kind) && !isSpecial(rule))
  const special = speaking.filter(isSpecial)
  const places = new Map<string, ReturnType<ReadyRules['paths']>>()
  return {
    whole: speaking.find(isWhole),
    specifiers,
    special,
    commands: specifiers === 'command' && !isWide(kind) ? commandRules(special) : new Map(),
    denied: deniedRules(specifiers === 'command' && isWide(kind) ? special.map(deniedRule) : []),
    paths: ({ cwd, home }, also) =>
      kept(places, JSON.stringify([cwd, home, also]), () =>
        pathIndex(
          special.map((rule) => ({
            rule,
            matcher: pathMatcher(
              rule.specifier ?? '',
              { cwd, home, root: rule.root, also: also === undefined ? [] : [also] },
              kind,
            ),
          })),
        ),
      ),
  }
}

function commandRules(rules: readonly PermissionRule[]): CommandRules<PermissionRule> {
  const byName = new Map<string, { readonly pattern: CommandPattern; readonly rule: PermissionRule }[]>()
  for (const rule of rules) {
    const { command, isPrefix } = commandOf(rule.specifier ?? '')
    const pattern = commandPattern(command, isPrefix)
    const name = pattern?.words[0]
    if (pattern === undefined || name === undefined) continue
    const named = byName.get(name)
    if (named === undefined) byName.set(name, [{ pattern, rule }])
    else named.push({ pattern, rule })
  }
  return byName
}

function deniedRule(rule: PermissionRule): DeniedRule<PermissionRule> {
  return { rule, denied: deniedCommand(commandOf(rule.specifier ?? '').command) }
}

function speaksOfTool(rule: PermissionRule, toolName: string, kind: RuleKind): boolean {
  if (rule.toolName === '*') return isWide(kind)
  if (isSameTool(rule.toolName, toolName) || coversMcpTool(rule.toolName, toolName)) return true
  if (rule.specifier === undefined) return false
  // A path rule speaks of a way of using files. `Read` and `Edit` are the names of the two ways.
  return [READING_TOOLS, WRITING_TOOLS].some(
    (family) =>
      isToolAmong(toolName, family) &&
      isToolAmong(rule.toolName, family) &&
      (isWide(kind) || isSameTool(rule.toolName, family[0] ?? '')),
  )
}

/** The paths that a call names, made ready. A search that names no path searches the working directory. */
function pathsOf(call: CallFacts, kind: RuleKind): readonly PathNames[] {
  const { subject, writesPath, resolvedPath, cwd } = call
  const named = subject === undefined && writesPath === undefined ? '.' : undefined
  const paths = new Set([subject, writesPath, named, resolvedPath])
  return [...paths].flatMap((path) => (path === undefined ? [] : [pathNames(cwd, path, kind)]))
}

function matchesName(rule: PermissionRule, subject: string | undefined, kind: RuleKind): boolean {
  const specifier = rule.specifier ?? ''
  switch (specifierKind(rule.toolName)) {
    case 'agent':
      return matchesAgentType(specifier, subject, kind)
    case 'skill':
      return matchesSkill(specifier, subject, kind)
    case 'domain': {
      const domain = domainOfRule(rule, specifier)
      return domain === undefined ? isWide(kind) : coversAddress(domain, subject, kind)
    }
    case 'command':
    case 'path':
    case 'unknown':
      return isWide(kind)
  }
}

const domains = new WeakMap<PermissionRule, { readonly domain: string | undefined }>()

/** Read once a rule: there may be many, and each is looked at for each address. */
function domainOfRule(rule: PermissionRule, specifier: string): string | undefined {
  const known = domains.get(rule)
  if (known !== undefined) return known.domain
  const domain = domainOf(specifier)
  domains.set(rule, { domain })
  return domain
}

function matchesAgentType(specifier: string, type: string | undefined, kind: RuleKind): boolean {
  const types = agentTypesOf(specifier)
  if (!isWide(kind)) return type !== undefined && types.includes(type)
  return type === undefined || types.some((denied) => denied.toLowerCase() === type.trim().toLowerCase())
}

/** A star stands for any characters, as in `Skill(team:*)`. */
function matchesSkill(specifier: string, name: string | undefined, kind: RuleKind): boolean {
  if (!isWide(kind)) return name !== undefined && matchesStars(specifier, name)
  return name === undefined || matchesStars(specifier.toLowerCase(), name.trim().toLowerCase())
}

function matchesStars(pattern: string, name: string): boolean {
  return pattern.includes('*') ? matchesWildcard(pattern, name) : pattern === name
}
