/** Small builders for permission tests. */
import type { PermissionRequest } from '../../../src/definitions/permissions/decide.ts'
import { matchesRule } from '../../../src/definitions/permissions/match.ts'
import type { PermissionRule, RuleKind } from '../../../src/definitions/permissions/rule.ts'
import { parseRules } from '../../../src/definitions/permissions/rule.ts'

export const CWD = '/home/ada/project'

/** Rules of one kind, from the source `test`. */
export function rules(kind: RuleKind, ...texts: readonly string[]): readonly PermissionRule[] {
  return parseRules(texts, { kind, source: 'test' }).rules
}

/** A call in {@link CWD}: changes something, stays inside. */
export function request(
  toolName: string,
  subject?: string,
  more: Partial<PermissionRequest> = {},
): PermissionRequest {
  return { toolName, subject, isReadOnly: false, isInsideCwd: true, cwd: CWD, home: '/home/ada', ...more }
}

/** Does the rule, of this kind, match the call? */
export function matches(kind: RuleKind, rule: string, call: PermissionRequest): boolean {
  return rules(kind, rule).some((parsed) => matchesRule(parsed, call, kind))
}
