/** What a tool's body handed back, as a log can hold it and a reader will take it. */
import * as z from 'zod'
import type { ToolOutput } from '../../effects/tools/tool.ts'
import { SeenFile } from '../../machines/agent/events.ts'
import { ResultContent } from '../../machines/agent/messages.ts'
import { messageOf } from '../errors.ts'

/** UTF-16 units of a result beside its text: blocks, and what only transcripts see. */
const MAX_JSON_CHARS = 8 * 1024 * 1024

const Output = z.looseObject({
  content: ResultContent,
  isError: z.boolean().optional(),
  files: z.array(SeenFile).optional(),
})

/**
 * The output, or an error result that says what is wrong with it: a host's tool may return anything. A structured
 * result that JSON cannot hold, or not in bounds, is left out: it is for readers of transcripts only.
 */
export function checkedOutput(toolName: string, output: ToolOutput): ToolOutput {
  const parsed = Output.safeParse(output)
  if (!parsed.success) {
    return broken(toolName, z.prettifyError(parsed.error).replaceAll('\n', ' '))
  }
  const problem = typeof output.content === 'string' ? undefined : jsonProblem(output.content)
  if (problem !== undefined) return broken(toolName, problem)
  if (output.structured === undefined || jsonProblem(output.structured) === undefined) return output
  const { structured: _, ...rest } = output
  return rest
}

function broken(toolName: string, problem: string): ToolOutput {
  return {
    content: `${toolName} ran, but returned no result that can be used: ${problem}. What it did is done.`,
    isError: true,
  }
}

function jsonProblem(value: unknown): string | undefined {
  try {
    const length = JSON.stringify(value)?.length ?? 0
    return length > MAX_JSON_CHARS ? `it has ${length} characters as JSON` : undefined
  } catch (error) {
    return `it is no JSON (${messageOf(error)})`
  }
}
