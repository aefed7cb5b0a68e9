/** The tool `Bash`. */
import * as z from 'zod'
import { startInForeground } from '../process/foreground-command.ts'
import { inputNotice, watchForInput } from '../process/input-watch.ts'
import type { ProcessOutcome } from '../process/process-runner.ts'
import { failure } from './refusals.ts'
import type { Tool, ToolContext, ToolOutput } from './tool.ts'

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
  run_in_background: z
    .boolean()
    .optional()
    .describe('Return at once while it goes on; BashOutput reads its output, KillShell ends it'),
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
- For a server, a watcher or a long build set \`run_in_background\`: you get an id at once and go on working. Such a shell has no time limit unless \`timeout\` gives one, and is ended with you.
- Output over ${MAX_OUTPUT} characters loses its middle: filter it or write it to a file.`,
  inputSchema: BashInput,
  resume: 'interrupt',
  isReadOnly: () => false,
  isConcurrencySafe: () => false,
  ruleSubject: (input) => input.command,
  run: async (input, context) => {
    try {
      return await (input.run_in_background === true ? startShell(input, context) : runToEnd(input, context))
    } catch (error) {
      // The runner rejects when a command cannot be started, which the model can often put right.
      if (error instanceof Error) return failure(error.message)
      throw error
    }
  },
}

async function runToEnd(input: BashInput, context: ToolContext): Promise<ToolOutput> {
  const timeoutMs = input.timeout ?? DEFAULT_TIMEOUT_MS
  const id = shellIdOf(context)
  let notice: string | undefined
  const watch = watchForInput(context.clock, (line) => {
    notice = inputNotice(input.command, line)
    context.notify?.(notice)
  })
  const command = startInForeground(context.processes, {
    command: input.command,
    cwd: context.cwd,
    mark: markOf(context),
    timeoutMs,
    maxOutputBytes: MAX_OUTPUT,
    signal: context.signal,
    onOutput: watch.saw,
  })
  let withdraw: (() => void) | undefined
  const moved = new Promise<{ readonly soFar: string }>((resolve) => {
    withdraw = context.offerMove?.(() => {
      const left = context.shells?.adopt(id, input.command, command)
      if (left === undefined) return undefined
      resolve({ soFar: left.output })
      return id
    })
  })
  try {
    const outcome = await Promise.race([command.outcome, moved])
    if ('soFar' in outcome) return movedOutput(id, outcome.soFar)
    const stdout = outcome.output.trimEnd()
    const trouble = troubleWith(outcome, timeoutMs)
    const asked = outcome.ended === 'exit' ? undefined : notice
    const parts = [trouble, asked, stdout].filter((part) => part !== undefined && part !== '')
    return {
      content: parts.join('\n') || '(The command ended without output.)',
      ...(trouble === undefined ? {} : { isError: true }),
      structured: { stdout, stderr: '', interrupted: outcome.ended !== 'exit', isImage: false },
    }
  } finally {
    withdraw?.()
    watch.stop()
  }
}

async function startShell(input: BashInput, context: ToolContext): Promise<ToolOutput> {
  const { shells } = context
  if (shells === undefined) {
    return failure('This agent cannot have background shells. Leave out run_in_background.')
  }
  if (context.signal.aborted) return failure('Interrupted; the command was not started.')
  const id = shellIdOf(context)
  await shells.start({
    ...{ id, command: input.command, cwd: context.cwd, mark: markOf(context) },
    ...(input.timeout !== undefined && { timeoutMs: input.timeout }),
    processes: context.processes,
  })
  return {
    content: `Running in the background as ${id}. Read its output with BashOutput, end it with KillShell.`,
    structured: { stdout: '', stderr: '', interrupted: false, isImage: false, backgroundTaskId: id },
  }
}

/** The result of a call whose command goes on in the background. */
function movedOutput(id: string, soFar: string): ToolOutput {
  const stdout = soFar.trimEnd()
  return {
    content: [
      `Moved to the background by the user, where it runs on as ${id}, without a time limit. Read what it writes from now on with BashOutput, end it with KillShell; it is ended with you.`,
      stdout === '' ? 'It has written nothing so far.' : `So far it has written:\n${stdout}`,
    ].join('\n'),
    structured: { stdout, stderr: '', interrupted: false, isImage: false, backgroundTaskId: id },
  }
}

const shellIdOf = ({ callId }: ToolContext): string => `bash_${callId}`

const markOf = ({ agentId, callId }: ToolContext): string => `${agentId}/${callId}`

function troubleWith({ ended, exitCode, signal }: ProcessOutcome, timeoutMs: number): string | undefined {
  if (ended === 'timeout')
    return `Timed out after ${timeoutMs} ms; the command and all it started were ended.`
  if (ended === 'aborted') return 'Interrupted; the command and all it started were ended.'
  if (signal !== null) return `Ended by signal ${signal}`
  return exitCode === 0 ? undefined : `Exit code ${exitCode}`
}
