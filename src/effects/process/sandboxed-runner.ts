/**
 * Runs the commands of one agent's call inside the sandbox of the system. For what a model has asked for: hooks, MCP
 * servers and git are the person's own, and run outside.
 *
 * What is inside has a session of its own and, on Linux, a table of processes of its own, which ends with the process that
 * holds it. It carries the mark of its call like everything else.
 */
import type { Sandbox } from '../sandbox/sandbox.ts'
import { awaitGone, BOX_VARIABLE } from './boxed-processes.ts'
import type { ProcessRunner } from './process-runner.ts'

/** Where the agent works. Absolute, links resolved. */
export interface SandboxedPlace {
  readonly cwd: string
  readonly writableRoots: readonly string[]
}

/**
 * The runner, for commands of an agent that works there. A command that cannot be put inside is not run: `run` rejects.
 * `run` resolves when nothing of it is left, inside as well.
 */
export function sandboxedRunner(
  inner: ProcessRunner,
  sandbox: Sandbox,
  place: SandboxedPlace,
): ProcessRunner {
  return {
    async run(request) {
      const boxed = await sandbox.box(request.command, place, request.signal)
      try {
        const outcome = await inner.run({
          ...request,
          command: boxed.commandLine,
          env: { ...request.env, [BOX_VARIABLE]: boxed.id },
        })
        return { ...outcome, output: boxed.annotated(outcome.output) }
      } finally {
        await awaitGone(boxed.id)
        boxed.done()
      }
    },
    endSurvivors: (recorded, agentIds) => inner.endSurvivors(recorded, agentIds),
  }
}
