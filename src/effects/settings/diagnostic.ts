/** What is said of settings that could not be honoured as they are. */
import type { FileDiagnostic } from '../../definitions/files/agent-file.ts'

/** The kinds of problems, besides those of rules (`rule-unreadable`, `rule-not-as-written`). */
export type SettingsDiagnosticCode =
  /** The file is no JSON object, cannot be read, or is too large. */
  | 'settings-unreadable'
  /** A project's file leads out of the project. */
  | 'settings-outside'
  /** A value is not what its key is for. */
  | 'settings-field-unreadable'
  /** Keys that mean nothing here. They are kept. */
  | 'settings-key-unknown'
  /** A key stands twice; only the last counts. */
  | 'settings-key-repeated'
  /** What a mode cannot be, because a stronger file, or caution, says so. */
  | 'settings-not-honoured'
  /** Something of a project is left out because nobody said that the project is trusted. */
  | 'project-not-trusted'

/** Something about one settings file. `error`: what it is about is not in force. */
export interface SettingsDiagnostic extends FileDiagnostic {
  readonly code: SettingsDiagnosticCode | 'rule-unreadable' | 'rule-not-as-written'
}
