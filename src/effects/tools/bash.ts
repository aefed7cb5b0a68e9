/** The tool `Bash`. */
import * as z from 'zod'
import type { ProcessOutcome } from '../process/process-runner.ts'
import { failure } from './refusals.ts'
import type { Tool } from './tool.ts'

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 600_000
/** In bytes, so at most as many characters. */
const MAX_OUTPUT = 30_000

const BashInput = z.strictObject({
  command: z.string().min(1).describe('The command line'),
  timeout: z
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .optional()
    .describe(`Milliseconds until it is ended; default ${DEFAULT_TIMEOUT_MS}, at most ${MAX_TIMEOUT_MS}`),
  description: z.string().optional().describe('What it does, in 5 to 10 words, for the person who watches'),
})
export type BashInput = z.infer<typeof BashInput>

/** Runs a shell command. */
export const bashTool: Tool<BashInput> = {
  name: 'Bash',
  description: `Runs a command in bash and returns its output, standard output and error in the order they came.

- For builds, tests, git and other programs. For files use the tools made for it: Read, Edit, Write, Glob, Grep.
- Every call starts in the working directory with a fresh shell: \`cd\`, variables and functions do not last. Join dependent commands with \`&&\`; quote paths with blanks.
- Nothing can be typed in: give flags that avoid questions and editors (\`--yes\`, \`git commit -m\`).
- Ended after ${DEFAULT_TIMEOUT_MS / 60_000} minutes unless \`timeout\` says otherwise. What is still running when the command ends, started with \`&\` for example, is ended too.
- Output over ${MAX_OUTPUT} characters loses its middle: filter it or write it to a file.`,
  inputSchema: BashInput,
  resume: 'interrupt',
  isReadOnly: () => false,
  isConcurrencySafe: () => false,
  ruleSubject: (input) => input.command,
  async run(input, context) {
    const timeoutMs = input.timeout ?? DEFAULT_TIMEOUT_MS
    try {
      const outcome = await context.processes.run({
        command: input.command,
        cwd: context.cwd,
        mark: `${context.agentId}/${context.callId}`,
        timeoutMs,
        maxOutputBytes: MAX_OUTPUT,
        signal: context.signal,
      })
      const stdout = outcome.output.trimEnd()
      const trouble = troubleWith(outcome, timeoutMs)
      const parts = [trouble, stdout].filter((part) => part !== undefined && part !== '')
      return {
        content: parts.join('\n') || '(The command ended without output.)',
        ...(trouble === undefined ? {} : { isError: true }),
        structured: { stdout, stderr: '', interrupted: outcome.ended !== 'exit', isImage: false },
      }
    } catch (error) {
      // The runner rejects when a command cannot be started, which the model can often put right.
      if (error instanceof Error) return failure(error.message)
      throw error
    }
  },
}

function troubleWith({ ended, exitCode, signal }: ProcessOutcome, timeoutMs: number): string | undefined {
  if (ended === 'timeout')
    return `Timed out after ${timeoutMs} ms; the command and all it started were ended.`
  if (ended === 'aborted') return 'Interrupted; the command and all it started were ended.'
  if (signal !== null) return `Ended by signal ${signal}`
  return exitCode === 0 ? undefined : `Exit code ${exitCode}`
}
