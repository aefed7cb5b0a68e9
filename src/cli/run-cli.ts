/**
 * The command line from arguments to exit code. Each command is loaded when it is asked for, so that `--help`
 * and `--version` need nothing but the parser.
 */
import { parseArguments } from './arguments.ts'
import { describeError, EXIT, exitCodeOf } from './errors.ts'
import type { Host } from './host.ts'

/** Runs the program in a host. Resolves with the exit code; never rejects. */
export async function main(host: Host): Promise<number> {
  try {
    const parsed = parseArguments(host.argv, host.version)
    switch (parsed.kind) {
      case 'print':
        host.stdout.write(parsed.text)
        return EXIT.success
      case 'run':
        return await (await import('./run-command.ts')).runCommand(parsed.run, host)
      case 'sessions':
        return await (await import('./sessions-command.ts')).sessionsCommand(parsed, host)
      case 'agents':
        return await (await import('./agents-command.ts')).agentsCommand(parsed.agents, host)
      case 'worktrees':
        return await (await import('./worktrees-command.ts')).worktreesCommand(parsed.worktrees, host)
      case 'log':
        return await (await import('./log-command.ts')).logCommand(parsed, host)
      case 'replay':
        return await (await import('./replay-command.ts')).replayCommand(parsed, host)
      case 'diff':
        return await (await import('./diff-command.ts')).diffCommand(parsed, host)
    }
  } catch (error) {
    host.stderr.write(`${describeError(error, host.argv.includes('--debug'))}\n`)
    return exitCodeOf(error)
  }
}
