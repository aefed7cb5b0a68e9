/**
 * Does a rule speak of a call? An allow rule only where that is certain, a deny rule wherever it could be.
 */
import { coversMcpTool, isSameTool, isToolAmong, READING_TOOLS, WRITING_TOOLS } from '../tool-names.ts'
import { hasWritingOption } from './git-options.ts'
import { coversPath } from './path-pattern.ts'
import { couldRun } from './possible-command.ts'
import { agentTypesOf, commandOf, type PermissionRule, type RuleKind, specifierKind } from './rule.ts'
import { simpleCommandTokens, startsWithTokens } from './simple-command.ts'

/** What rules are matched against. */
export interface CallFacts {
  readonly toolName: string
  /** The command of Bash, the path of a file tool, the type of an `Agent` call. */
  readonly subject?: string | undefined
  /** The path that the call writes to. */
  readonly writesPath?: string | undefined
  /** Where the path leads once symlinks are followed. A deny rule on either stops the call; an allow rule needs both. */
  readonly resolvedPath?: string | undefined
  /** Absolute. */
  readonly cwd: string
  /** Absolute, for `~` in rules. */
  readonly home?: string | undefined
}

/** Does the rule, used to allow or to deny, match the call? */
export function matchesRule(rule: PermissionRule, call: CallFacts, kind: RuleKind): boolean {
  if (!speaksOfTool(rule, call.toolName, kind)) return false
  const { specifier } = rule
  if (specifier === undefined) return true
  switch (specifierKind(rule.toolName)) {
    case 'command':
      return matchesCommand(specifier, call.subject, kind)
    case 'path':
      return matchesPaths(specifier, call, kind)
    case 'agent':
      return matchesAgentType(specifier, call.subject, kind)
    case 'unknown':
      return kind === 'deny'
  }
}

/** The first rule that matches; which of several does not change the decision, only its explanation. */
export function findRule(
  rules: readonly PermissionRule[],
  call: CallFacts,
  kind: RuleKind,
): PermissionRule | undefined {
  return rules.find((rule) => matchesRule(rule, call, kind))
}

function speaksOfTool(rule: PermissionRule, toolName: string, kind: RuleKind): boolean {
  if (rule.toolName === '*') return kind === 'deny'
  if (isSameTool(rule.toolName, toolName) || coversMcpTool(rule.toolName, toolName)) return true
  if (rule.specifier === undefined) return false
  // A path rule speaks of a way of using files. `Read` and `Edit` are the names of the two ways.
  return [READING_TOOLS, WRITING_TOOLS].some(
    (family) =>
      isToolAmong(toolName, family) &&
      isToolAmong(rule.toolName, family) &&
      (kind === 'deny' || isSameTool(rule.toolName, family[0] ?? '')),
  )
}

function matchesCommand(specifier: string, command: string | undefined, kind: RuleKind): boolean {
  const wanted = commandOf(specifier)
  if (kind === 'deny') return command === undefined || couldRun(command, wanted.command)
  const prefix = simpleCommandTokens(wanted.command)
  const tokens = command === undefined ? undefined : simpleCommandTokens(command)
  if (prefix === undefined || tokens === undefined || !startsWithTokens(tokens, prefix)) return false
  if (!wanted.isPrefix) return tokens.length === prefix.length
  return !hasWritingOption(tokens, prefix.length)
}

function matchesPaths(specifier: string, call: CallFacts, kind: RuleKind): boolean {
  // A search that names no path searches the working directory.
  const named = [call.subject, call.writesPath].filter((path) => path !== undefined)
  const paths = [...(named.length === 0 ? ['.'] : named), call.resolvedPath].filter(
    (path) => path !== undefined,
  )
  const covers = (path: string): boolean => coversPath(specifier, path, call, kind)
  return kind === 'deny' ? paths.some(covers) : paths.every(covers)
}

function matchesAgentType(specifier: string, type: string | undefined, kind: RuleKind): boolean {
  const types = agentTypesOf(specifier)
  if (kind === 'allow') return type !== undefined && types.includes(type)
  return type === undefined || types.some((denied) => denied.toLowerCase() === type.trim().toLowerCase())
}
