/** The kinds of problems. Each is explained in `docs/errors.md`. */
export type DiagnosticCode =
  | 'bypass-disabled'
  | 'background-not-available'
  | 'feature-not-available'
  | 'feature-unreadable'
  | 'isolation-not-available'
  | 'mode-argument-ignored'
  | 'mode-not-complete'
  | 'model-argument-ignored'
  | 'model-unknown'
  | 'parent-context-not-available'
  | 'report-schema-in-part'
  | 'report-schema-unusable'
  | 'secret-too-short'
  | 'rule-not-as-written'
  | 'rule-unreadable'
  | 'tool-entry-unreadable'
  | 'tool-not-offered'
  | 'tool-unknown'

/** What could not be honoured, and why. Nothing is dropped silently: it becomes one of these (law 11). */
export interface Diagnostic {
  /** `error`: what was asked for is not in force. `warning`: it is, but perhaps not as its author meant. */
  readonly severity: 'error' | 'warning'
  /** Stable name of the kind of problem, for filters and tests. */
  readonly code: DiagnosticCode
  /** What happened, to what, and what to do. */
  readonly message: string
}
