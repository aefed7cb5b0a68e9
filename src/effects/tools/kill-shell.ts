/** The tool `KillShell`. */
import * as z from 'zod'
import { describeShell } from '../process/shell-table.ts'
import { noShell } from './bash-output.ts'
import { failure } from './refusals.ts'
import type { Tool } from './tool.ts'

const KillShellInput = z.strictObject({
  shell_id: z.string().min(1).describe('The id that Bash returned'),
})
export type KillShellInput = z.infer<typeof KillShellInput>

/** Ends a background shell. */
export const killShellTool: Tool<KillShellInput> = {
  name: 'KillShell',
  description: `Ends a background shell and everything it started, and returns when it is gone.

- Works with the ids of Bash calls that had \`run_in_background\` set, or were moved to the background.
- It is asked to end first and killed if it does not. Output that you have not read can still be read with BashOutput.`,
  inputSchema: KillShellInput,
  // Ending what has ended changes nothing.
  resume: 'repeat',
  // It takes back what this very agent was permitted to start, so that it needs no permission of its own.
  isReadOnly: () => true,
  isConcurrencySafe: () => true,
  ruleSubject: (input) => input.shell_id,
  run: async ({ shell_id }, { shells }) => {
    const before = shells?.list().find(({ id }) => id === shell_id)
    const shell = await shells?.kill(shell_id)
    if (before === undefined || shell === undefined) return failure(noShell(shell_id, shells))
    const content =
      before.end === undefined
        ? `Killed ${shell_id} (${shell.command.split('\n', 1)[0]}).`
        : `${shell_id} was not running any more: ${describeShell(before)}.`
    return { content, structured: { shell_id, command: shell.command } }
  },
}
