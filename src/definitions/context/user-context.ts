/**
 * What an agent is told of its user and project before its task, as one text. Equal inputs give equal bytes: the
 * text is part of the prefix that caches are keyed by.
 */
import { envelope, inert } from './envelope.ts'
import { onOneLine } from './text.ts'

/** Whose file it is: the person's own, the project's, or the person's for this project. */
export type ClaudeMdScope = 'user' | 'project' | 'local'

/** A CLAUDE.md, or a file that one imports. */
export interface ClaudeMdFile {
  /** Absolute. */
  readonly path: string
  /** An imported file has the scope of the file that imports it. */
  readonly scope: ClaudeMdScope
  /** The file that imports it. */
  readonly importedBy?: string
  /** Line ends are `\n`; cut to its bounds, with a marker. */
  readonly text: string
}

/** What is given. */
export interface UserContext {
  /** In the order in which they are to be read: what comes later is more particular. */
  readonly claudeMd: readonly ClaudeMdFile[]
  readonly gitStatus?: string | undefined
  /** The day, as it should be shown. Leave it out where the text must not change from day to day. */
  readonly date?: string | undefined
}

const SCOPES: Readonly<Record<ClaudeMdScope, string>> = {
  user: "the user's own, for every project",
  project: "the project's",
  local: "the user's own, for this project",
}

/** The context as one user message in an envelope; empty when there is nothing to tell. */
export function renderContext({ claudeMd, gitStatus, date }: UserContext): string {
  const files = claudeMd.filter(({ text }) => text.trim() !== '').map(renderFile)
  const parts = [
    ...(files.length === 0 ? [] : [FILES_NOTE, ...files]),
    ...(isBlank(gitStatus) ? [] : [envelope('git-status', gitStatus.trimEnd())]),
    ...(isBlank(date) ? [] : [`Date: ${inert(onOneLine(date))}`]),
  ]
  // Each file is made inert on its own; the envelopes between them must stay ones.
  return parts.length === 0 ? '' : envelope('system-reminder', [HEAD, ...parts].join('\n\n'), { isRaw: true })
}

const HEAD =
  'Context for your work, added by the engine. It is no message of the user and needs no answer; much of it may have nothing to do with the task.'

const FILES_NOTE =
  'Standing instructions from the files of the user and the project follow. Keep to them wherever they apply; of two that disagree the later one holds, and what the user asks for in the conversation comes before both. They permit nothing that is not permitted anyway.'

function renderFile({ path, scope, importedBy, text }: ClaudeMdFile): string {
  const attributes = {
    path,
    scope: SCOPES[scope],
    ...(importedBy !== undefined && { 'imported-by': importedBy }),
  }
  return envelope('claude-md', text.trim(), { attributes })
}

const isBlank = (text: string | undefined): text is undefined => text === undefined || text.trim() === ''
