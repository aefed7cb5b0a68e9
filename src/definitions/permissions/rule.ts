/**
 * Permission rules as written: `Tool` or `Tool(specifier)`.
 *
 * What cannot be read never widens anything: a broken allow rule allows nothing, a broken deny rule denies the
 * whole tool that it names.
 */
import type { Diagnostic } from '../diagnostic.ts'
import { canonicalToolName, READING_TOOLS, WRITING_TOOLS } from '../tool-names.ts'
import { domainOf } from './domain.ts'
import type { RuleKind } from './rule-kind.ts'
import { commandPattern } from './shell/covers.ts'
import { isOpaqueRunner } from './shell/runners.ts'

export type { RuleKind } from './rule-kind.ts'

/** A rule in force. */
export interface PermissionRule {
  /** As it is shown to people: `Tool` or `Tool(specifier)`. */
  readonly text: string
  /** Canonical name; `mcp__server`, `mcp__server__*`, or `*` (not to allow) stand for several. */
  readonly toolName: string
  /** Undefined: the whole tool. */
  readonly specifier: string | undefined
  /** Where it comes from, for messages: `--disallowedTools`, the path of a settings file, the host. */
  readonly source: string
  /** Deny and ask rules: also holds for every descendant. */
  readonly inheritable: boolean
  /** The folder, absolute, that its source speaks for: `/x` starts there, other relative paths of deny and ask rules too. */
  readonly root?: string
}

/** What one text says. `broken` keeps the tool's name where it could be read. */
export type ReadRule =
  | { readonly kind: 'rule'; readonly toolName: string; readonly specifier: string | undefined }
  | { readonly kind: 'broken'; readonly toolName: string | undefined; readonly problem: string }

/** What the specifier of a tool's rules is: a shell command, a path, names, a domain, or nothing we understand. */
export type SpecifierKind = 'command' | 'path' | 'agent' | 'skill' | 'domain' | 'unknown'

/** The kind of specifier that rules for this tool have. */
export function specifierKind(toolName: string): SpecifierKind {
  if (toolName === 'Bash') return 'command'
  if (toolName === 'Agent') return 'agent'
  if (toolName === 'Skill') return 'skill'
  if (toolName === 'WebFetch') return 'domain'
  return READING_TOOLS.includes(toolName) || WRITING_TOOLS.includes(toolName) ? 'path' : 'unknown'
}

/** Reads one rule. `Task(…)` is `Agent(…)`; blanks around the parts do not count; brackets may nest. */
export function readRule(text: string): ReadRule {
  const trimmed = text.trim()
  const open = trimmed.indexOf('(')
  const toolName = canonicalToolName(open === -1 ? trimmed : trimmed.slice(0, open))
  if (!/^[^\s(),]+$/u.test(toolName))
    return { kind: 'broken', toolName: undefined, problem: 'it does not start with the name of one tool' }
  if (open === -1) return { kind: 'rule', toolName, specifier: undefined }
  if (!trimmed.endsWith(')')) return { kind: 'broken', toolName, problem: 'its bracket is not closed' }
  const specifier = trimmed.slice(open + 1, -1).trim()
  if (specifier === '')
    return {
      kind: 'broken',
      toolName,
      problem: `its brackets are empty; write ${toolName} for the whole tool`,
    }
  if (closesEarly(specifier))
    return { kind: 'broken', toolName, problem: 'its bracket closes before its end; give one rule per entry' }
  // For paths `*` is a pattern like any other; elsewhere it says no more than the tool's name.
  const saysNothing = specifier === '*' && specifierKind(toolName) !== 'path'
  return { kind: 'rule', toolName, specifier: saysNothing ? undefined : specifier }
}

/** Where rules come from. */
export interface RuleOrigin {
  readonly kind: RuleKind
  readonly source: string
  /** Default: true. Deny and ask rules: do they hold for every descendant? */
  readonly inheritable?: boolean
  /** See {@link PermissionRule.root}. */
  readonly root?: string
}

/** Makes rules of texts. */
export function parseRules(
  texts: readonly string[],
  options: RuleOrigin,
): { readonly rules: readonly PermissionRule[]; readonly diagnostics: readonly Diagnostic[] } {
  const rules: PermissionRule[] = []
  const diagnostics: Diagnostic[] = []
  const say = (
    severity: Diagnostic['severity'],
    code: Diagnostic['code'],
    text: string,
    problem: string,
  ): void => {
    const message = `The ${options.kind} rule "${text.trim()}" (${options.source}): ${problem}.`
    diagnostics.push({ severity, code, message })
  }
  for (const text of texts) {
    const read = readRule(text)
    if (read.kind === 'broken') {
      const isWhole = options.kind !== 'allow' && read.toolName !== undefined
      const effect = isWhole
        ? `all of ${read.toolName} is ${INSTEAD[options.kind]} instead`
        : 'it has no effect'
      say('error', 'rule-unreadable', text, `${read.problem}; ${effect}`)
      if (!isWhole) continue
    } else {
      const problem = shortcomingOf(read.toolName, read.specifier, options)
      if (problem !== undefined) say('warning', 'rule-not-as-written', text, problem)
    }
    const specifier = read.kind === 'rule' ? read.specifier : undefined
    // A broken rule without a name was left out above.
    const toolName = read.toolName ?? '*'
    rules.push({
      text: specifier === undefined ? toolName : `${toolName}(${specifier})`,
      toolName,
      specifier,
      source: options.source,
      inheritable: options.inheritable ?? true,
      ...(options.root !== undefined && { root: options.root }),
    })
  }
  return { rules, diagnostics }
}

/** The command or prefix that a Bash specifier names: `git log:*` and `git log *` are the prefix `git log`. */
export function commandOf(specifier: string): { readonly command: string; readonly isPrefix: boolean } {
  const prefix = /^(?<command>.*?)(?::\*| \*)$/su.exec(specifier)?.groups?.['command']
  return prefix === undefined
    ? { command: specifier, isPrefix: false }
    : { command: prefix.trim(), isPrefix: true }
}

/** The types that an `Agent(a, b)` specifier names. */
export function agentTypesOf(specifier: string): readonly string[] {
  return specifier
    .split(',')
    .map((type) => type.trim())
    .filter((type) => type !== '')
}

const INSTEAD: Readonly<Record<RuleKind, string>> = { allow: 'allowed', deny: 'denied', ask: 'asked about' }

/** What a well-formed rule does not do although its author may think so. */
function shortcomingOf(
  toolName: string,
  specifier: string | undefined,
  { kind, root }: RuleOrigin,
): string | undefined {
  if (toolName === '*' && kind === 'allow')
    return 'it allows nothing; for everything choose the permission mode "bypassPermissions"'
  if (specifier === undefined) return undefined
  const specifiers = specifierKind(toolName)
  const isUnknown = specifiers === 'unknown' || (specifiers === 'domain' && domainOf(specifier) === undefined)
  if (isUnknown) {
    const hint = specifiers === 'domain' ? `${toolName}(domain:example.org)` : toolName
    return kind === 'allow'
      ? `what is in the brackets is not understood for ${toolName}, so it allows nothing; write ${hint}`
      : `what is in the brackets is not understood for ${toolName}, so all of ${toolName} is ${INSTEAD[kind]}`
  }
  if (kind !== 'allow') return undefined
  if (specifiers === 'command') return shortcomingOfCommand(specifier)
  // In a settings file it is the folder of the project, as its author knows.
  if (specifiers === 'path' && /^\/[^/]/u.test(specifier) && root === undefined)
    return `the path is read from the working directory; for an absolute path write ${toolName}(/${specifier})`
  return undefined
}

function shortcomingOfCommand(specifier: string): string | undefined {
  const { command, isPrefix } = commandOf(specifier)
  const pattern = commandPattern(command, isPrefix)
  if (pattern === undefined)
    return 'it allows nothing, because a rule names one plain command: without operators, variables, wildcards or redirects'
  const [name = ''] = pattern.words
  if (isPrefix && pattern.words.length === 1 && isOpaqueRunner(name))
    return `it allows nothing, because ${name} runs what it is given; name the command, as in Bash(${name} ls:*)`
  return undefined
}

function closesEarly(specifier: string): boolean {
  let depth = 0
  for (const character of specifier) {
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth < 0) return true
  }
  return false
}
