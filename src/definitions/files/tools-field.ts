/**
 * `tools` and `disallowedTools`.
 *
 * Never wider than written: what cannot be read as a whole rejects the file; of `tools` an unreadable entry is left
 * out; in `disallowedTools` it forbids the whole tool.
 */
import { didYouMean } from '../closest-name.ts'
import { readRule } from '../permissions/rule.ts'
import { canonicalToolName, isKnownTool, isToolAmong, KNOWN_TOOL_NAMES } from '../tool-names.ts'
import { type FileNotes, quoted } from './file-notes.ts'
import { foreignToolName } from './foreign-tools.ts'
import type { RawField } from './frontmatter.ts'
import { placeIn, placeOf } from './places.ts'
import { toolTokens } from './tool-tokens.ts'

/** Which of the two a list is. */
export type ToolListKind = 'tools' | 'disallowedTools'

const MOST_ENTRIES = 500

/** Entries that mean themselves, whatever tools the host has. */
const PLAIN_NAMES: ReadonlySet<string> = new Set(KNOWN_TOOL_NAMES)

/** Reads a list. Undefined: it is unreadable, which the notes say, and the file must be rejected. */
export function readTools(
  raw: RawField,
  kind: ToolListKind,
  hostToolNames: readonly string[],
  notes: FileNotes,
): readonly string[] | undefined {
  const text = listText(raw.value)
  if (text === undefined) {
    const message = `\`${kind}\` is there but cannot be read as a list of tools, and an agent must not get more than was meant. Write names with commas between them.`
    notes.fail('field-unreadable', message, placeOf(raw))
    return undefined
  }
  const { tokens, unclosed } = toolTokens(text)
  const saved = unclosed === undefined ? [] : rescued(unclosed, kind)
  if (unclosed !== undefined && kind === 'disallowedTools') {
    const what = `The bracket in \`${kind}\` that begins at ${quoted(unclosed)} is not closed`
    if (saved.length === 0) {
      notes.fail('field-unreadable', `${what}, and no tool is named in it. Close it.`, placeOf(raw))
      return undefined
    }
    const message = `${what}: all of ${saved.join(', ')} is forbidden instead. Close it.`
    notes.warn('tool-entry-unreadable', message, placeOf(raw))
  }
  const texts = [...tokens, ...saved]
  if (texts.length > MOST_ENTRIES) {
    const message = `\`${kind}\` has ${texts.length} entries; ${MOST_ENTRIES} are the most that is read.`
    notes.fail('field-unreadable', message, placeOf(raw))
    return undefined
  }
  if (texts.length === 0) {
    if (kind === 'tools' && !Array.isArray(raw.value)) {
      const message =
        '`tools` is there but empty: the agent has no tools. Remove the line for all tools, or write `none`.'
      notes.warn('tools-empty', message, placeOf(raw))
    }
    return []
  }
  const saysNone = texts.some((entry) => entry.length === 4 && entry.toLowerCase() === 'none')
  // Beside other names it contradicts them; the narrower reading counts.
  if (saysNone && (kind === 'tools' || texts.length === 1)) return []
  const entries = new Set<string>()
  for (const text of texts) {
    if (PLAIN_NAMES.has(text)) entries.add(text)
    else for (const entry of readEntry(text, kind, raw, hostToolNames, notes)) entries.add(entry)
  }
  if (entries.has('*')) return ['*']
  if (entries.size > 0 || kind === 'disallowedTools') return [...entries]
  const message = `None of the tools of this agent is known: ${texts.slice(0, 10).map(quoted).join(', ')}. It cannot be started until it names one that is offered.`
  notes.warn('tools-unresolved', message, placeOf(raw))
  // As written: nothing is not the same as none, and whoever resolves them refuses by name.
  return texts
}

/** All entries as one text. Lists in brackets split `Agent(a, b)` in two; joined again it is one. */
function listText(value: unknown): string | undefined {
  if (value === null) return ''
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return undefined
  const entries: readonly unknown[] = value
  const texts = entries.filter((entry) => entry !== null)
  return texts.every((entry) => typeof entry === 'string') ? texts.join(', ') : undefined
}

/**
 * What is left of an entry whose bracket is never closed, which may have swallowed those behind it. In `tools` it
 * is one broken entry. In `disallowedTools` each name in it is forbidden.
 */
function rescued(unclosed: string, kind: ToolListKind): readonly string[] {
  if (kind === 'tools') return [unclosed]
  return unclosed.split(/[\s,()]+/).filter((name) => isKnownTool(name) || isMcpName(name))
}

function readEntry(
  text: string,
  kind: ToolListKind,
  raw: RawField,
  hostToolNames: readonly string[],
  notes: FileNotes,
): readonly string[] {
  if (text === '*' || text.toLowerCase() === 'all') return ['*']
  const read = readRule(text)
  const place = placeIn(raw, text)
  if (read.kind === 'broken') {
    const isWhole = kind === 'disallowedTools' && read.toolName !== undefined
    const effect = isWhole ? `all of ${read.toolName} is forbidden instead` : 'it was left out'
    const message = `The entry ${quoted(text)} in \`${kind}\` cannot be read: ${read.problem}; ${effect}.`
    notes.warn('tool-entry-unreadable', message, place)
    return isWhole && read.toolName !== undefined ? [read.toolName] : []
  }
  const { toolName: written, specifier } = read
  const foreign = isToolAmong(written, hostToolNames) ? undefined : foreignToolName(written)
  const toolName = foreign ?? canonicalToolName(written)
  if (foreign !== undefined)
    notes.warn('tool-renamed', `The tool ${quoted(written)} in \`${kind}\` is called ${foreign} here.`, place)
  const isKnown = isKnownTool(toolName) || isToolAmong(toolName, hostToolNames)
  if (!isMcpName(toolName) && !isKnown) {
    const known = [...KNOWN_TOOL_NAMES, ...hostToolNames]
    const effect = kind === 'tools' ? 'left out' : 'kept, and forbids nothing that is known'
    const message = `The tool ${quoted(written)} in \`${kind}\` is not known; it was ${effect}.${didYouMean(written, known)}`
    notes.warn('tool-unknown', message, place)
    if (kind === 'tools') return []
  }
  return [specifier === undefined ? toolName : `${toolName}(${specifier})`]
}

const isMcpName = (name: string): boolean => name.toLowerCase().startsWith('mcp__')
