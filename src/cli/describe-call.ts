/** A tool call in a few words: the tool and what it is about. */
import { oneLine } from './format.ts'

/** The field of an input that says what the call is about, the most telling one first. */
const SUBJECTS = ['description', 'file_path', 'path', 'pattern', 'command', 'url', 'query', 'prompt'] as const
const BY_TOOL: Readonly<Record<string, readonly string[]>> = {
  Bash: ['command'],
  Grep: ['pattern'],
  Glob: ['pattern'],
}

/** `Grep "lock" in src`, `Read src/journal/lock.ts`, `Agent Explore: usages of lock`. Paths below `cwd` are shortened. */
export function describeCall(name: string, input: unknown, cwd?: string): string {
  const fields = isRecord(input) ? input : {}
  const text = (key: string): string | undefined => {
    const value = fields[key]
    return typeof value === 'string' && value.trim() !== '' ? shorten(value, cwd) : undefined
  }
  const subject = [...(BY_TOOL[name] ?? []), ...SUBJECTS].map(text).find((value) => value !== undefined)
  if (subject === undefined) return oneLine(name, 120)
  if (name === 'Grep' || name === 'Glob') {
    const where = text('path')
    return oneLine(`${name} "${subject}"${where === undefined ? '' : ` in ${where}`}`, 120)
  }
  const kind = text('subagent_type')
  return oneLine(kind === undefined ? `${name} ${subject}` : `${name} ${kind}: ${subject}`, 120)
}

function shorten(value: string, cwd: string | undefined): string {
  if (cwd === undefined) return value
  if (value === cwd) return '.'
  return value.startsWith(`${cwd}/`) ? value.slice(cwd.length + 1) : value
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
