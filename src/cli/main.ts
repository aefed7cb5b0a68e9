#!/usr/bin/env node
/** The program: the command line in the real world. Everything heavy is loaded when it is needed. */
import { homedir } from 'node:os'
import { systemClock } from '../effects/clock.ts'
import { systemIds } from '../effects/ids.ts'
import { VERSION } from '../engine/version.ts'
import { EXIT_CODE_OF, type Host, type Output, type StopSignal } from './host.ts'
import { setRawMode } from './raw-terminal.ts'
import { main } from './run-cli.ts'

const ASKING: ReadonlySet<string> = new Set(['AskUserQuestion', 'ExitPlanMode'])

const listeners = new Set<(signal: StopSignal) => void>()

function hear(signal: StopSignal): void {
  if (listeners.size === 0) process.exit(EXIT_CODE_OF[signal])
  for (const listener of [...listeners]) listener(signal)
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => hear(signal))
// A reader that went away (`troupe log | head`) is a reason to stop, not an error.
process.stdout.on('error', () => hear('SIGPIPE'))
process.stderr.on('error', () => {})

const outputOf = (stream: NodeJS.WriteStream): Output => ({
  isTTY: stream.isTTY === true,
  get columns() {
    return stream.columns
  },
  get rows() {
    return stream.rows
  },
  write: (text) => void stream.write(text),
})

/** `process.exit` would cut off what a pipe has not taken yet. */
const flushed = (stream: NodeJS.WriteStream): Promise<void> =>
  stream.writableLength === 0 || stream.destroyed
    ? Promise.resolve()
    : new Promise((resolve) => void stream.write('', () => resolve()))

/** A directory that was removed has only its old name left; the command will say that it cannot be read. */
function currentFolder(): string {
  try {
    return process.cwd()
  } catch {
    return process.env['PWD'] ?? '.'
  }
}

const host: Host = {
  argv: process.argv.slice(2),
  env: process.env,
  cwd: currentFolder(),
  stdin: {
    get isTTY() {
      return process.stdin.isTTY === true
    },
    setRaw: (isRaw) => process.stdin.isTTY === true && setRawMode(process.stdin, isRaw),
    [Symbol.asyncIterator]: () => process.stdin[Symbol.asyncIterator](),
  },
  stdout: outputOf(process.stdout),
  stderr: outputOf(process.stderr),
  clock: systemClock,
  ids: systemIds,
  version: VERSION,
  userHome: homedir(),
  onStopSignal(listener) {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  },
  stopProcess: () => {
    process.kill(0, 'SIGTSTP')
  },
  onContinued(listener) {
    process.on('SIGCONT', listener)
    return () => void process.off('SIGCONT', listener)
  },
  exitNow: (code) => process.exit(code),
  async createEngine(options) {
    const { createEngine } = await import('../engine/create-engine.ts')
    return createEngine(options)
  },
  async anthropicModel() {
    const { createAnthropicModel } = await import('../effects/model/anthropic.ts')
    return createAnthropicModel({ env: process.env })
  },
  async openProject(options) {
    const { openProject } = await import('../effects/project/open-project.ts')
    return openProject(options)
  },
  async offlineModel(options) {
    const { createOfflineModel } = await import('../effects/model/offline/offline-model.ts')
    return createOfflineModel({ ...options, clock: systemClock })
  },
  async builtIns() {
    const { standardTools } = await import('../effects/tools/tool-table.ts')
    const { BUILT_IN_DEFINITIONS } = await import('../definitions/built-in/index.ts')
    return {
      // What asks a person is not offered where a program reads the output.
      tools: ['Agent', 'Skill', ...standardTools().map(({ name }) => name)].filter(
        (name) => !ASKING.has(name),
      ),
      agents: BUILT_IN_DEFINITIONS.map(({ agentType }) => agentType),
    }
  },
  async worktrees() {
    const { createGitWorktrees } = await import('../effects/worktrees/git-worktrees.ts')
    const { worktreeOwners } = await import('../engine/worktree/worktree-owners.ts')
    const { createLocalProcessRunner } = await import('../effects/process/local-process-runner.ts')
    const processes = createLocalProcessRunner()
    return createGitWorktrees({ owners: worktreeOwners((id) => processes.endSurvivors([], [id])) })
  },
  async sessions(home) {
    const { createJournalReader } = await import('./journal-reader.ts')
    return createJournalReader(home, host.cwd)
  },
}

// The timers of the engine keep no process alive; while the program has something to do, this does.
const alive = setInterval(() => {}, 2 ** 30)
const code = await main(host)
clearInterval(alive)
await Promise.all([flushed(process.stdout), flushed(process.stderr)])
process.exit(code)
