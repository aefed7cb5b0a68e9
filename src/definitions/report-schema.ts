/**
 * `outputSchema` of a definition: the report of such an agent is read by a program. It is told the schema, its
 * report is checked, and one more reply is asked for when it does not fit.
 */
import type { Diagnostic } from './diagnostic.ts'
import { type JsonSchema, readJsonSchema, shapeProblem } from './json-schema.ts'

/** UTF-16 code units of a report that is looked at. */
export const MAX_REPORT_CHARS = 1_000_000

/** A schema that reports can be checked by. */
export type ReportSchema = JsonSchema

/** What `outputSchema` comes to. Without a schema the agent reports in its own words, and a diagnostic says why. */
export interface ReadReportSchema {
  readonly schema: ReportSchema | undefined
  readonly diagnostics: readonly Diagnostic[]
}

/** Reads the `outputSchema` of a definition. Never throws. */
export function readReportSchema(agentType: string, outputSchema: unknown): ReadReportSchema {
  const read = readJsonSchema(outputSchema)
  if (read.kind === 'broken')
    return {
      schema: undefined,
      diagnostics: [
        {
          severity: 'error',
          code: 'report-schema-unusable',
          message: `The outputSchema of ${agentType} cannot be used: ${read.why}. Its reports are not checked; correct the schema.`,
        },
      ],
    }
  const { schema } = read
  if (schema.unchecked.length === 0) return { schema, diagnostics: [] }
  return {
    schema,
    diagnostics: [
      {
        severity: 'warning',
        code: 'report-schema-in-part',
        message: `Of the outputSchema of ${agentType} these parts are told to the agent but not checked: ${schema.unchecked.slice(0, 10).join(', ')}.`,
      },
    ],
  }
}

/** The section of the system prompt that tells an agent the form of its report. */
export function reportSchemaPrompt(schema: ReportSchema): string {
  return `# Form of your report
A program reads your last message. It has to be one JSON value that fits this JSON Schema, and nothing else: no words before or after it, no comments. Work as you would otherwise; only the report has this form. Fill every field from what you found; where the schema lets a field be missing or null, prefer that to a guess.

${schema.text}`
}

/** Whether a report fits. `unchecked` says why nobody knows; such a report is let pass, for it is not its author's fault. */
export type ReportCheck =
  | { readonly ok: true; readonly value: unknown; readonly unchecked?: string }
  /** `message` is for the agent that wrote it: what is wrong, and what to send now. */
  | { readonly ok: false; readonly message: string }

/**
 * Finds the JSON in a report and checks it. The whole text is tried first, then fenced blocks from the last to the
 * first, then what stands between the first bracket and the last; the first that fits is the value.
 */
export function checkReport(text: string, schema: ReportSchema): ReportCheck {
  if (text.length > MAX_REPORT_CHARS)
    return again(`it has ${text.length} characters, and ${MAX_REPORT_CHARS} are the limit`)
  let problems: readonly string[] | undefined
  for (const candidate of candidatesIn(text)) {
    const parsed = parse(candidate)
    if (parsed === undefined) continue
    const checked = schema.check(parsed.value)
    if (checked.kind === 'valid') return { ok: true, value: parsed.value }
    if (checked.kind === 'gave-up') return { ok: true, value: parsed.value, unchecked: checked.why }
    problems ??= checked.problems
  }
  if (problems === undefined) return again('there is no JSON value in it that can be read')
  return again(`its JSON does not fit the schema:\n${problems.map((problem) => `- ${problem}`).join('\n')}`)
}

function again(what: string): ReportCheck {
  return {
    ok: false,
    message: `Your report cannot be used: ${what}${what.includes('\n') ? '\n' : '. '}Send the whole report once more, as one JSON value that fits the schema in your instructions, and nothing else. Places are JSON pointers into your value.`,
  }
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return shapeProblem(value) === undefined ? { value } : undefined
  } catch {
    return undefined
  }
}

function candidatesIn(text: string): readonly string[] {
  const start = text.search(/[[{]/u)
  const end = Math.max(text.lastIndexOf(']'), text.lastIndexOf('}'))
  const inner = start === -1 || end < start ? [] : [text.slice(start, end + 1)]
  return [text, ...fencedBlocks(text).reverse(), ...inner]
}

/** How many fenced blocks are tried: the value is the last thing in a report, or nearly. */
const MAX_BLOCKS = 10

/** What stands between lines of three backticks, read line by line. The last {@link MAX_BLOCKS}. */
function fencedBlocks(text: string): string[] {
  const blocks: string[] = []
  let lines: string[] | undefined
  for (const line of text.split('\n')) {
    const isFence = line.trimStart().startsWith('```')
    if (!isFence) lines?.push(line)
    else if (lines === undefined) lines = []
    else {
      blocks.push(lines.join('\n'))
      lines = undefined
    }
  }
  return blocks.slice(-MAX_BLOCKS)
}
