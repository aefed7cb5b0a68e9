/** The tool `BashOutput`. */
import * as z from 'zod'
import { type LinearPattern, readLinearPattern } from '../../definitions/linear-pattern.ts'
import { describeShell, type ShellTable } from '../process/shell-table.ts'
import { counted, linesOf } from './lines.ts'
import { failure, refusalsAsResults } from './refusals.ts'
import type { Tool } from './tool.ts'
import { ToolRefusal } from './tool-refusal.ts'

/** Steps of matching that one call may take: some 100 ms. */
const MAX_STEPS = 5_000_000

const BashOutputInput = z.strictObject({
  bash_id: z.string().min(1).describe('The id that Bash returned'),
  filter: z
    .string()
    .optional()
    .describe('A regular expression: only lines that match are shown, the others are dropped for good'),
})
export type BashOutputInput = z.infer<typeof BashOutputInput>

/** Reads what a background shell has written since the last time. */
export const bashOutputTool: Tool<BashOutputInput> = {
  name: 'BashOutput',
  description: `Reads what a background shell has written since you last read it, and tells whether it still runs.

- Works with the ids of Bash calls that had \`run_in_background\` set, or were moved to the background.
- Output is handed out once: keep what you need. With \`filter\` the lines that do not match are gone, too.
- Do not call it in a loop to wait. Do other work first, or run a command that waits for what you need.`,
  inputSchema: BashOutputInput,
  // A shell does not outlive the engine: after a restart the call says so, whichever output was taken before.
  resume: 'repeat',
  isReadOnly: () => true,
  // Two readings of one shell share its output in the order in which they come.
  isConcurrencySafe: () => false,
  ruleSubject: (input) => input.bash_id,
  run: (input, { shells }) =>
    refusalsAsResults(async () => {
      const pattern = input.filter === undefined ? undefined : patternOf(input.filter)
      const shell = shells?.read(input.bash_id)
      if (shell === undefined) return failure(noShell(input.bash_id, shells))
      const state = describeShell(shell)
      const lines = linesOf(shell.output)
      const { shown, dropped } = pattern ? matching(lines, pattern) : { shown: lines, dropped: 0 }
      const parts = [
        `[${shell.id}: ${state}]`,
        shown.length > 0 ? shown.join('\n') : '(no new output)',
        ...(dropped > 0 ? [`[${counted(dropped, 'line')} did not match.]`] : []),
      ]
      return {
        content: parts.join('\n'),
        structured: {
          ...{ shellId: shell.id, command: shell.command, status: shell.end?.status ?? 'running' },
          ...(shell.end?.status === 'exited' &&
            shell.end.exitCode !== null && { exitCode: shell.end.exitCode }),
          ...{ stdout: shown.join('\n'), stderr: '' },
        },
      }
    }),
}

/** Why there is no such shell, and which there are. */
export function noShell(id: string, shells: ShellTable | undefined): string {
  const running = shells?.list().filter(({ end }) => end === undefined) ?? []
  const others = running.length > 0 ? ` Running: ${running.map((shell) => shell.id).join(', ')}.` : ''
  return `There is no background shell ${id}. Shells end with the agent that started them, and at a restart.${others}`
}

function patternOf(source: string): LinearPattern {
  const read = readLinearPattern(source)
  if (read.kind === 'pattern') return read.pattern
  throw new ToolRefusal(`The filter cannot be used: ${read.why}. Nothing was read.`)
}

/** Lines that match. When that gets too costly the rest is shown as it is: output that was taken must not be lost. */
function matching(
  lines: readonly string[],
  pattern: LinearPattern,
): { readonly shown: readonly string[]; readonly dropped: number } {
  let left = MAX_STEPS
  const spend = (steps: number): void => {
    left -= steps
    if (left < 0) throw new TooCostly()
  }
  const shown: string[] = []
  for (const [at, line] of lines.entries()) {
    try {
      if (pattern.matches(line, spend)) shown.push(line)
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error
      const rest = lines.slice(at)
      shown.push('[The filter takes too long for the rest, which follows unfiltered.]', ...rest)
      return { shown, dropped: lines.length - rest.length - (shown.length - rest.length - 1) }
    }
  }
  return { shown, dropped: lines.length - shown.length }
}

class TooCostly extends Error {}
