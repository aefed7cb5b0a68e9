/** What is said of a project's surroundings that could not be honoured as they are. */
import type { AgentFile, FileDiagnostic } from '../../definitions/files/agent-file.ts'

/** The kinds of problems. Each is explained in `docs/errors.md`. */
export type ProjectDiagnosticCode =
  /** A file of agents, or a folder of them, leads out of the place that it may lie in. */
  | 'agent-file-outside'
  | 'agent-file-unreadable'
  | 'agent-folder-unreadable'
  /** A link leads to what is read already: back to a folder above it, or to another file. */
  | 'agent-file-repeated'
  /** A place holds more, or deeper, than is read. */
  | 'agent-files-too-many'
  /** `--mcp-config` names what cannot be read. */
  | 'mcp-config-unreadable'
  /** Two servers have one name; the stronger place decides. */
  | 'mcp-server-shadowed'
  | 'memory-not-ignored'
  | 'plugin-agents-outside'
  | 'plugin-agents-unreadable'
  | 'plugin-manifest-unreadable'
  | 'plugin-unreadable'
  /** Something of a project is left out because nobody said that the project is trusted. */
  | 'project-not-trusted'
  | 'settings-field-unreadable'
  /** A key stands where it has no force, as trust that a project gives itself. */
  | 'settings-not-honoured'
  /** As in agent files. */
  | 'hook-event-assumed'
  | 'hook-unreadable'
  | 'settings-outside'
  | 'settings-unreadable'
  /** Changes will not all be noticed. */
  | 'watch-incomplete'

/** As for agent files. `error`: what it is about is not in force. `warning`: it is, but not as it is written. */
export interface ProjectDiagnostic extends FileDiagnostic {
  readonly code: ProjectDiagnosticCode
}

/** Says one thing of a place. */
export type Tell = (
  severity: ProjectDiagnostic['severity'],
  code: ProjectDiagnosticCode,
  message: string,
  line?: number,
) => void

/** Collects what is said of `file`, an absolute path or a place in words. */
export function teller(file: string, into: FileDiagnostic[]): Tell {
  return (severity, code, message, line) =>
    void into.push({ severity, code, message, file, ...(line !== undefined && { line, column: 1 }) })
}

/** What could not even be looked at, as a file that gives no agent: so it is among the failed ones. */
export function failedPlace(file: string, code: ProjectDiagnosticCode, message: string): AgentFile {
  return { kind: 'failed', file, diagnostics: [diagnosticOf('error', file, code, message)] }
}

/** What gives no agent and is no failure, with the reason. */
export function passedOver(file: string, code: ProjectDiagnosticCode, message: string): AgentFile {
  return { kind: 'not-an-agent', file, diagnostics: [diagnosticOf('warning', file, code, message)] }
}

/** One diagnostic about a whole file. */
export function diagnosticOf(
  severity: ProjectDiagnostic['severity'],
  file: string,
  code: ProjectDiagnosticCode,
  message: string,
): ProjectDiagnostic {
  return { severity, code, message, file }
}
