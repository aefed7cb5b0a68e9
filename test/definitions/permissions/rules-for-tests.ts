/** Small builders for permission tests. */
import type { PermissionRequest } from '../../../src/definitions/permissions/decide.ts'
import { matchesRule, rulesThatAllow } from '../../../src/definitions/permissions/match.ts'
import type { PermissionRule, RuleKind } from '../../../src/definitions/permissions/rule.ts'
import { parseRules } from '../../../src/definitions/permissions/rule.ts'
import { loadShellReader } from '../../../src/definitions/permissions/shell/read-shell.ts'

/** Reads a command line with the parser, as the engine has it done before it decides. */
export const readBash = await loadShellReader()

export const CWD = '/home/ada/project'

/** Rules of one kind, from the source `test`. */
export function rules(kind: RuleKind, ...texts: readonly string[]): readonly PermissionRule[] {
  return parseRules(texts, { kind, source: 'test' }).rules
}

/** A call in {@link CWD}: changes something, stays inside. Commands of Bash are read. */
export function request(
  toolName: string,
  subject?: string,
  more: Partial<PermissionRequest> = {},
): PermissionRequest {
  const shell = toolName === 'Bash' && subject !== undefined ? { shell: readBash(subject) } : {}
  const place = { cwd: CWD, home: '/home/ada' }
  return { toolName, subject, isReadOnly: false, isInsideCwd: true, ...place, ...shell, ...more }
}

/** Does the rule, of this kind, match the call? */
export function matches(kind: RuleKind, rule: string, call: PermissionRequest): boolean {
  return rules(kind, rule).some((parsed) => matchesRule(parsed, call, kind))
}

/** Do these allow rules together let the command line pass? */
export function allowsCommand(texts: readonly string[], command: string): boolean {
  return rulesThatAllow(rules('allow', ...texts), request('Bash', command)) !== undefined
}

/** Could the command line run what the deny rule names? */
export function deniesCommand(text: string, command: string): boolean {
  return matches('deny', text, request('Bash', command))
}
