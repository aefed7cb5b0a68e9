/** What a rule does with a call that it matches: lets it pass, stops it, or has a person asked. */
export type RuleKind = 'allow' | 'deny' | 'ask'

/** Is the rule read widely, so that in doubt it matches? An allow rule matches only where that is certain. */
export function isWide(kind: RuleKind): boolean {
  return kind !== 'allow'
}
