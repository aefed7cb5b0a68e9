/** A tool call in a few words: the tool and what it is about. */

/** The field of an input that says what the call is about, the most telling one first. */
const SUBJECTS = ['description', 'file_path', 'path', 'pattern', 'command', 'url', 'query', 'prompt'] as const
const BY_TOOL: Readonly<Record<string, readonly string[]>> = {
  Bash: ['command'],
  Grep: ['pattern'],
  Glob: ['pattern'],
}

/** Characters of a subject: more of it tells no more. */
const MAX_SUBJECT = 1_000

/**
 * `Grep "lock" in src`, `Read src/journal/lock.ts`, `Agent Explore: usages of lock`. Paths below `cwd` are shortened. What
 * the model wrote stands in it as it is: whoever shows it takes care of line ends and control characters.
 */
export function callInWords(name: string, input: unknown, cwd?: string): string {
  const fields = isRecord(input) ? input : {}
  const text = (key: string): string | undefined => {
    const value = fields[key]
    return typeof value === 'string' && value.trim() !== '' ? shorten(value, cwd) : undefined
  }
  const subject = [...(BY_TOOL[name] ?? []), ...SUBJECTS].map(text).find((value) => value !== undefined)
  if (subject === undefined) return name
  if (name === 'Grep' || name === 'Glob') {
    const where = text('path')
    return `${name} "${subject}"${where === undefined ? '' : ` in ${where}`}`
  }
  const kind = text('subagent_type')
  return kind === undefined ? `${name} ${subject}` : `${name} ${kind}: ${subject}`
}

function shorten(value: string, cwd: string | undefined): string {
  if (value === cwd) return '.'
  const path = cwd !== undefined && value.startsWith(`${cwd}/`) ? value.slice(cwd.length + 1) : value
  return path.slice(0, MAX_SUBJECT)
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
