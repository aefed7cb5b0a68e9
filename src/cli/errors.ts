/**
 * Errors as a person at a terminal should meet them: one line that says what to do, and an exit code.
 */
import { forTerminal } from './format.ts'

/** Exit codes that are not a signal's: 0 is success and nothing else. */
export const EXIT = { success: 0, failure: 1, usage: 2 } as const

/** The command cannot do what was asked. The message is one line and says what to do. Exit code 1. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly exitCode: number = EXIT.failure
}

/** The command line itself is wrong. Exit code 2. */
export class UsageError extends CliError {
  override readonly name = 'UsageError'
  override readonly exitCode = EXIT.usage
}

/** The code that a process exits with after an error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode
  return error instanceof Error && 'code' in error && ENGINE_USAGE.has(error.code) ? EXIT.usage : EXIT.failure
}

/** Codes of the engine that say that an option has a value that it cannot have. */
const ENGINE_USAGE: ReadonlySet<unknown> = new Set(['bad-rule', 'bad-session-id'])

/** An error in one line; with `debug` its stack and those of its causes. It may quote anything and steers nothing. */
export const describeError = (error: unknown, debug: boolean): string => forTerminal(wordsOf(error, debug))

function wordsOf(error: unknown, debug: boolean): string {
  if (!(error instanceof Error)) return `troupe: ${onOneLine(String(error))}`
  if (!debug) return `troupe: ${onOneLine(error.message)}`
  const stacks: string[] = []
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    stacks.push(cause.stack ?? String(cause))
  }
  return `troupe: ${stacks.join('\ncaused by: ')}`
}

const onOneLine = (text: string): string => text.trim().replace(/\s*\n\s*/g, ' ')
