/**
 * Reads a file that may describe an agent: frontmatter between fences, then the prompt.
 *
 * A1. Any bytes give an answer; nothing throws, and nothing in a file runs.
 * A2. Whatever is not honoured is a diagnostic with line and reason; what can be honoured works.
 * A3. In doubt an agent gets less, never more.
 * A4. Time is linear in the size of the file, which is bounded.
 */
import type { AgentFile, FileOrigin } from './agent-file.ts'
import { buildDefinition } from './build-definition.ts'
import { findFrontmatter } from './fences.ts'
import { fieldOfKey } from './field-names.ts'
import { createFileNotes, type FileNotes } from './file-notes.ts'
import { MAX_FILE_BYTES, readFileText } from './file-text.ts'
import { readFrontmatter } from './frontmatter.ts'

/** What the host adds to the names known here. */
export interface ParseOptions {
  /** Tools of the host. Unknown tools of a definition are left out. */
  readonly toolNames?: readonly string[]
  /** Short names of models, of the host's `modelAliases`. */
  readonly modelNames?: readonly string[]
}

/**
 * The agent that a file describes, or why there is none.
 *
 * @param content the file's bytes, or its text
 * @param origin where the file stands; its name serves where the file gives none
 * @public
 */
export function parseAgentFile(
  content: Uint8Array | string,
  origin: FileOrigin,
  options: ParseOptions = {},
): AgentFile {
  const file = origin.path
  const notes = createFileNotes(file)
  const { diagnostics } = notes
  const read = readFileText(content)
  if (read.kind === 'too-large') {
    const message = `The file has ${read.size} bytes; ${MAX_FILE_BYTES} are the most that is read.`
    notes.fail('file-too-large', message)
    return { kind: 'failed', file, diagnostics }
  }
  const fenced = findFrontmatter(read.text, (key) => fieldOfKey(key) !== undefined)
  if (fenced.kind === 'none') {
    const { hint } = fenced
    if (hint !== undefined) notes.warn(hint.code, hint.message, hint.place)
    return { kind: 'not-an-agent', file, diagnostics }
  }
  for (const { problem, line } of read.damages)
    notes.warn('text-damaged', `${problem}.`, line === undefined ? {} : { line, column: 1 })
  if (fenced.kind === 'broken') {
    const { code, message, place } = fenced.problem
    notes.fail(code, message, place)
    return { kind: 'failed', file, diagnostics }
  }
  for (const { code, message, place } of fenced.oddities) notes.warn(code, message, place)
  const frontmatter = readFrontmatter(fenced.lines, fenced.firstLine)
  if (frontmatter.mode === 'repaired') noteRepair(frontmatter, notes)
  const { mode, fields } = frontmatter
  const place = { line: fenced.firstLine - 1, column: 1 }
  const built = buildDefinition({ mode, fields, prompt: fenced.body, place }, origin, {
    notes,
    toolNames: options.toolNames ?? [],
    modelNames: options.modelNames ?? [],
  })
  return built === undefined
    ? { kind: 'failed', file, diagnostics }
    : { kind: 'agent', mode, ...built, diagnostics }
}

function noteRepair(
  { fields, reason, line, column }: Extract<ReturnType<typeof readFrontmatter>, { mode: 'repaired' }>,
  notes: FileNotes,
): void {
  const asText = fields.filter(({ isAsText }) => isAsText).map(({ key }) => `\`${key}\``)
  const taken = asText.length === 0 ? '' : `, and ${asText.slice(0, 5).join(', ')} as plain text`
  const message = `The frontmatter is not YAML (${reason}): its known keys were read line by line${taken}. Put values that hold ": " or begin with a special character in quotes.`
  notes.warn('yaml-repaired', message, { line, column })
}
