/** Collects what the author of one file should know. */
import type { FileDiagnostic } from './agent-file.ts'

/** The kinds of problems of agent files. Each is explained in `docs/errors.md`. */
export type AgentFileDiagnosticCode =
  | 'agent-shadowed'
  | 'agents-json-unreadable'
  | 'description-missing'
  | 'fence-odd'
  | 'field-lost'
  | 'field-repeated'
  | 'field-unreadable'
  | 'field-untrusted'
  | 'file-too-large'
  | 'frontmatter-language'
  | 'frontmatter-misplaced'
  | 'frontmatter-not-closed'
  | 'frontmatter-too-large'
  | 'hook-event-assumed'
  | 'hook-unreadable'
  | 'key-spelling'
  | 'key-unknown'
  | 'mcp-key-unknown'
  | 'mcp-server-unreadable'
  | 'model-unknown'
  | 'name-changed'
  | 'name-missing'
  | 'name-unusable'
  | 'name-unusual'
  | 'prompt-missing'
  | 'text-damaged'
  | 'tool-entry-unreadable'
  | 'tool-renamed'
  | 'tool-unknown'
  | 'tools-empty'
  | 'tools-unresolved'
  | 'value-as-text'
  | 'warnings-cut'
  | 'yaml-repaired'

/** Where in a file, from 1. */
export interface Place {
  readonly line?: number
  readonly column?: number
}

/** The notes on one file. */
export interface FileNotes {
  /** In the order in which they were made. */
  readonly diagnostics: readonly FileDiagnostic[]
  /** The agent is there, but not as it is written. */
  warn(code: AgentFileDiagnosticCode, message: string, place?: Place): void
  /** The file gives no agent. */
  fail(code: AgentFileDiagnosticCode, message: string, place?: Place): void
}

/** Warnings beyond this say nothing new, and a hostile file could ask for a million. Errors are always kept. */
const MOST_WARNINGS = 200

/** Names and reasons in a message are as long as their author made them. */
const LONGEST_MESSAGE = 1_000

/** Starts the notes on `file`: an absolute path, or a place in words. */
export function createFileNotes(file: string): FileNotes {
  const diagnostics: FileDiagnostic[] = []
  let warnings = 0
  const add = (
    severity: FileDiagnostic['severity'],
    code: AgentFileDiagnosticCode,
    message: string,
    { line, column }: Place = {},
  ): void => {
    diagnostics.push({
      severity,
      code,
      message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message,
      file,
      ...(line !== undefined && { line }),
      ...(line !== undefined && column !== undefined && { column }),
    })
  }
  return {
    diagnostics,
    warn: (code, message, place) => {
      warnings += 1
      if (warnings <= MOST_WARNINGS) add('warning', code, message, place)
      else if (warnings === MOST_WARNINGS + 1)
        add(
          'warning',
          'warnings-cut',
          `There are more than ${MOST_WARNINGS} warnings; the others are not listed.`,
        )
    },
    fail: (code, message, place) => add('error', code, message, place),
  }
}

/** A text of the file as a message shows it: quoted, on one line, cut. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
