/**
 * The sandbox of one engine: what the operating system lets commands of its agents do.
 *
 * Owns: the engine's share in the one that there is in a process, and a folder for temporary files. Does not own:
 * permissions. What they refuse is not run, and nothing is allowed because it would be run inside.
 *
 *   X1  A command is run inside or not at all.
 *   X2  Each command has its own bounds: they are made from where its agent works at that moment.
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../definitions/message-of.ts'
import type { SandboxPlan } from '../../definitions/sandbox/options.ts'
import { SandboxError } from './sandbox-error.ts'
import { loadSandboxManager, type SandboxManager } from './sandbox-manager.ts'
import { shareManager } from './share-manager.ts'
import { type SandboxPlace, writeAccessOf } from './write-access.ts'

export interface SandboxSurroundings {
  readonly plan: SandboxPlan
  /** Folders that no command writes: logs, the person's settings. Absolute. */
  readonly records: readonly string[]
  /** Told once: what protects less than it should. */
  readonly warn: (message: string) => void
  /** For tests. Default: the package, which is loaded when it is first wanted. */
  readonly load?: () => Promise<SandboxManager>
  /** For tests. Default: a command that does nothing is run. Why none can be run; undefined: they can. */
  readonly trial?: (manager: SandboxManager) => Promise<string | undefined>
}

/** A command, ready to be run. */
export interface BoxedCommand {
  /** Unlike that of any other. */
  readonly id: string
  /** The command line that runs it inside. */
  readonly commandLine: string
  /** The output with what the network was refused for. */
  annotated(output: string): string
  /** To be called once, when nothing of it runs any more. */
  done(): void
}

export interface Sandbox {
  /** Makes it ready. Rejects with a {@link SandboxError}, and tries again when it is called again. */
  open(): Promise<void>
  /** Rejects where nothing can be run. */
  box(
    command: string,
    place: Pick<SandboxPlace, 'cwd' | 'writableRoots'>,
    signal: AbortSignal,
  ): Promise<BoxedCommand>
  /** Resolves when nothing is left of it. No command may run any more. */
  close(): Promise<void>
}

interface Ready {
  readonly manager: SandboxManager
  readonly temp: string
  readonly leave: () => Promise<void>
}

/** Nothing is loaded before it is opened. */
export function createSandbox(surroundings: SandboxSurroundings): Sandbox {
  const { plan, records } = surroundings
  let opening: Promise<Ready> | undefined
  let isClosed = false
  const ready = (): Promise<Ready> => {
    if (isClosed) return Promise.reject(new Error('The sandbox is closed.'))
    if (opening === undefined) {
      const attempt = open(surroundings).catch((error: unknown) => {
        opening = undefined
        throw named(error, plan)
      })
      opening = attempt
    }
    return opening
  }
  return {
    async open() {
      await ready()
    },
    async box(command, { cwd, writableRoots }, signal) {
      const { manager, temp } = await ready()
      // An id that says nothing: commands read it in the address of their proxy.
      const id = randomUUID()
      const commandLine = await manager.wrapWithSandbox(
        `export TMPDIR=${quoted(temp)}; ${command}`,
        existsSync('/bin/bash') ? '/bin/bash' : 'sh',
        { filesystem: changeable(writeAccessOf({ cwd, writableRoots, temp, records }, plan)) },
        signal,
        { commandId: id },
      )
      return {
        id,
        commandLine,
        annotated: (output) => manager.annotateStderrWithSandboxFailures(id, output),
        done: () => manager.cleanupAfterCommand(),
      }
    },
    async close() {
      isClosed = true
      const made = await opening?.catch(() => undefined)
      if (made === undefined) return
      await made.leave()
      await rm(made.temp, { recursive: true, force: true })
    },
  }
}

async function open({
  plan,
  warn,
  load = loadSandboxManager,
  trial = runNothing,
}: SandboxSurroundings): Promise<Ready> {
  if (plan.problem !== undefined) throw new SandboxError('sandbox-unreadable', `${plan.problem}; correct it`)
  const manager = await load()
  if (process.platform === 'win32' || !manager.isSupportedPlatform())
    throw new SandboxError('sandbox-unsupported', `it does not work on this system (${process.platform})`)
  const rgPath = await ripgrepPath()
  const { errors, warnings } = manager.checkDependencies({ command: rgPath })
  if (errors.length > 0)
    throw new SandboxError(
      'sandbox-unsupported',
      `it needs what is not here: ${errors.join('; ')}. On Debian and Ubuntu: apt-get install bubblewrap socat`,
    )
  const leave = await shareManager(manager, plan, rgPath)
  try {
    const why = await trial(manager)
    if (why !== undefined)
      throw new SandboxError('sandbox-unsupported', `a command cannot be run in it: ${why}`)
    const temp = await mkdtemp(join(realpathSync(tmpdir()), 'troupe-sandbox-'))
    for (const warning of warnings) warn(`The sandbox of agents' commands protects less: ${warning}.`)
    return { manager, temp, leave }
  } catch (error) {
    await leave()
    throw error
  }
}

/** Runs a command that does nothing: systems that have all the programs can forbid what they do, as containers do. */
async function runNothing(manager: SandboxManager): Promise<string | undefined> {
  const files = { allowWrite: [], denyWrite: [], denyRead: [] }
  const { signal } = new AbortController()
  const id = { commandId: randomUUID() }
  const commandLine = await manager.wrapWithSandbox('true', 'sh', { filesystem: files }, signal, id)
  try {
    return await attemptToRun(commandLine)
  } finally {
    manager.cleanupAfterCommand()
  }
}

function attemptToRun(commandLine: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('sh', ['-c', commandLine], { timeout: 30_000 }, (error, _, stderr) =>
      resolve(error === null ? undefined : stderr.trim() || messageOf(error)),
    )
  })
}

/** Not before it is wanted: nothing of an engine needs it at its start, and the package throws where it has no program. */
async function ripgrepPath(): Promise<string> {
  try {
    return (await import('@vscode/ripgrep')).rgPath
  } catch (cause) {
    throw new SandboxError('sandbox-unsupported', `it needs ripgrep: ${messageOf(cause)}`, cause)
  }
}

/** The error with who wanted the sandbox, and what that means. */
function named(error: unknown, { wantedBy }: SandboxPlan): unknown {
  if (!SandboxError.is(error)) return error
  return new SandboxError(
    error.code,
    `Agents' commands are to run in a sandbox (${wantedBy.join(', ')}), and none can be had: ${error.message}. Without it they are not run.`,
    error.cause,
  )
}

const changeable = ({
  allowWrite,
  denyWrite,
  denyRead,
}: {
  readonly allowWrite: readonly string[]
  readonly denyWrite: readonly string[]
  readonly denyRead: readonly string[]
}) => ({ allowWrite: [...allowWrite], denyWrite: [...denyWrite], denyRead: [...denyRead] })

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
