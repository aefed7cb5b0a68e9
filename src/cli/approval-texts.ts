/** What a person is shown of a call that needs approval, and what their answer means. Pure. */
import type { ApprovalAnswer, ApprovalRequest } from '../engine/api.ts'
import { spelledOut } from './format.ts'

/** Lines that are shown of a call at first; the rest is a key away. */
const MAX_LINES = 12
const MAX_LINE = 600

/** Fields that are the whole of what a call does, by tool; of others all fields are shown. */
const WHOLE: Readonly<Record<string, readonly string[]>> = {
  Bash: ['command'],
  Write: ['file_path'],
  Edit: ['file_path'],
  NotebookEdit: ['notebook_path'],
  WebFetch: ['url'],
  WebSearch: ['query'],
}

/**
 * What the call would do, line by line: the command, the path with the size of what is written, else the whole input.
 * Control characters are spelled out: nothing is hidden from whoever decides.
 */
export function whatIsAsked({
  toolName,
  input,
}: Pick<ApprovalRequest, 'toolName' | 'input'>): readonly string[] {
  const fields = isRecord(input) ? input : {}
  const [key] = WHOLE[toolName] ?? []
  const subject = key === undefined ? undefined : fields[key]
  if (typeof subject !== 'string') return spelledOut(JSON.stringify(input, null, 2) ?? '').split('\n')
  const extent = extentOf(toolName, fields)
  return spelledOut(extent === undefined ? subject : `${subject} (${extent})`).split('\n')
}

function extentOf(toolName: string, fields: Readonly<Record<string, unknown>>): string | undefined {
  const lines = (value: unknown): number =>
    typeof value === 'string' && value !== '' ? value.replace(/\n$/, '').split('\n').length : 0
  const counted = (count: number): string => `${count} ${count === 1 ? 'line' : 'lines'}`
  if (toolName === 'Write') return `the whole file, ${counted(lines(fields['content']))}`
  if (toolName !== 'Edit') return undefined
  const all = fields['replace_all'] === true ? ', everywhere' : ''
  const old = lines(fields['old_string'])
  return `${counted(old)} ${old === 1 ? 'becomes' : 'become'} ${counted(lines(fields['new_string']))}${all}`
}

/** The lines that are shown at first, and whether that is not all. */
export function shownAtFirst(lines: readonly string[]): {
  readonly lines: readonly string[]
  readonly isCut: boolean
} {
  const shown = lines.slice(0, MAX_LINES)
  const isCut = lines.length > MAX_LINES || shown.some(({ length }) => length > MAX_LINE)
  return {
    lines: [
      ...shown.map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line)),
      ...(lines.length > MAX_LINES ? [`… ${lines.length - MAX_LINES} more lines`] : []),
    ],
    isCut,
  }
}

/** What a typed line means. */
export type Meant =
  | { readonly kind: 'answer'; readonly answer: ApprovalAnswer }
  /** A refusal without words yet. */
  | { readonly kind: 'no' }
  | { readonly kind: 'show-all' }
  | { readonly kind: 'unclear' }

/** Reads an answer. Nothing but a plain yes allows; an empty line, or one that is not understood, decides nothing. */
export function meaningOf(line: string, { suggestions }: Pick<ApprovalRequest, 'suggestions'>): Meant {
  const word = line.trim()
  const key = word.toLowerCase()
  if (key === 'y' || key === 'yes') return { kind: 'answer', answer: { decision: 'allow' } }
  if ((key === 'a' || key === 'always') && suggestions.length > 0)
    return { kind: 'answer', answer: { decision: 'allow', always: true } }
  if (key === 'v' || key === 'view') return { kind: 'show-all' }
  const no = /^no?(?:$|[\s,.:;-]+)(.*)$/isu.exec(word)
  if (no === null) return { kind: 'unclear' }
  const message = (no[1] ?? '').trim()
  return message === '' ? { kind: 'no' } : { kind: 'answer', answer: { decision: 'deny', message } }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
