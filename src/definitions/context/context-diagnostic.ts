/** What could not be honoured of the files that agents are given as context. */
import type { FileDiagnostic } from '../files/agent-file.ts'

/** The kinds of problems. Each is explained in `docs/errors.md`. */
export type ContextDiagnosticCode =
  | 'claude-md-cut'
  | 'claude-md-import-cycle'
  | 'claude-md-import-missing'
  | 'claude-md-import-too-deep'
  | 'claude-md-left-out'
  | 'claude-md-outside'
  | 'claude-md-unreadable'
  | 'memory-cut'
  | 'memory-outside'
  | 'memory-unreadable'
  | 'skill-cut'
  | 'skill-description-missing'
  | 'skill-field-unreadable'
  | 'skill-keys-ignored'
  | 'skill-name-unusable'
  | 'skill-outside'
  | 'skill-repaired'
  | 'skill-shadowed'
  | 'skill-unreadable'
  | 'skills-too-many'

/** As for agent files. `error`: what the file holds is not given. `warning`: it is, but not as it is written. */
export interface ContextDiagnostic extends FileDiagnostic {
  readonly code: ContextDiagnosticCode
}
