/** A world without processes: what goes in is given, what comes out is kept. */

import { tmpdir } from 'node:os'
import { CliError } from '../../../src/cli/errors.ts'
import type { Host, StopSignal } from '../../../src/cli/host.ts'
import { main } from '../../../src/cli/run-cli.ts'
import type { LogEntry, SessionReader, SessionSummary } from '../../../src/cli/session-reader.ts'
import type { Model } from '../../../src/effects/model/model.ts'
import { openProject } from '../../../src/effects/project/open-project.ts'
import { createVirtualClock, type VirtualClock } from '../../../src/effects/virtual-clock.ts'
import type { Worktrees } from '../../../src/effects/worktrees/worktrees.ts'
import type { Recorded } from '../../../src/machines/agent/events.ts'
import { createFakeEngine, type FakeEngine } from './fake-engine.ts'

export interface FakeHost {
  readonly host: Host
  readonly engine: FakeEngine
  readonly clock: VirtualClock
  readonly stdout: string
  readonly stderr: string
  /** Which models were opened, with their options. */
  readonly models: readonly string[]
  /** Codes of `exitNow`. */
  readonly exits: readonly number[]
  signal(signal: StopSignal): void
  /** Runs the program. */
  run(): Promise<number>
}

export interface FakeHostOptions {
  readonly env?: Record<string, string>
  readonly cwd?: string
  /** Piped text; absent: a terminal. `'silent'` never gives anything and never ends. */
  readonly stdin?: string | { readonly silent: true }
  readonly stdoutIsTTY?: boolean
  readonly stderrIsTTY?: boolean
  readonly columns?: number
  readonly worktrees?: Worktrees
  readonly sessions?: SessionReader
}

const MODEL: Model = {
  provider: 'none',
  stream: () => {
    throw new Error('no test of the command line asks a model')
  },
}

export function createFakeHost(argv: readonly string[], options: FakeHostOptions = {}): FakeHost {
  let stdout = ''
  let stderr = ''
  let uuids = 0
  const models: string[] = []
  const exits: number[] = []
  const listeners = new Set<(signal: StopSignal) => void>()
  const engine = createFakeEngine()
  const clock = createVirtualClock(Date.UTC(2026, 10, 30, 12))
  const host: Host = {
    argv,
    env: options.env ?? {},
    cwd: options.cwd ?? tmpdir(),
    stdin: {
      isTTY: options.stdin === undefined,
      async *[Symbol.asyncIterator]() {
        if (typeof options.stdin === 'object') await new Promise(() => {})
        // In two pieces, the second as bytes, as a pipe may give them.
        else if (options.stdin !== undefined) {
          yield options.stdin.slice(0, 3)
          yield new TextEncoder().encode(options.stdin.slice(3))
        }
      },
    },
    stdout: {
      isTTY: options.stdoutIsTTY ?? false,
      columns: options.columns,
      rows: undefined,
      write: (text) => {
        stdout += text
      },
    },
    stderr: {
      isTTY: options.stderrIsTTY ?? false,
      columns: options.columns,
      rows: undefined,
      write: (text) => {
        stderr += text
      },
    },
    clock,
    ids: {
      uuid: () => `00000000-0000-4000-9000-${String(++uuids).padStart(12, '0')}`,
      agentId: () => {
        throw new Error('the command line makes no agents')
      },
      random: () => 0.5,
    },
    version: '1.2.3',
    userHome: '/home/nobody',
    onStopSignal: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    stopProcess: () => {},
    onContinued: () => () => {},
    exitNow: (code) => exits.push(code),
    createEngine: (engineOptions) => {
      engine.options = engineOptions
      return engine.engine
    },
    anthropicModel: async () => {
      models.push('anthropic')
      return MODEL
    },
    offlineModel: async ({ paceMs }) => {
      models.push(paceMs === undefined ? 'offline' : `offline at ${paceMs} ms`)
      return MODEL
    },
    openProject,
    builtIns: async () => ({ tools: ['Agent', 'Read', 'Bash'], agents: ['general-purpose', 'Explore'] }),
    worktrees: async () => {
      if (options.worktrees === undefined) throw new Error('this test has no worktrees')
      return options.worktrees
    },
    sessions: async () => options.sessions ?? sessionsOf({}),
  }
  return {
    host,
    engine,
    clock,
    models,
    exits,
    get stdout() {
      return stdout
    },
    get stderr() {
      return stderr
    },
    signal: (signal) => {
      for (const listener of [...listeners]) listener(signal)
    },
    run: () => main(host),
  }
}

/** A log in memory: events, or entries as they are. */
export type FakeLog = readonly (Recorded | LogEntry)[]

/** Sessions in memory: by id, the logs of each, the root's first, by the names of their files. */
export function sessionsOf(
  sessions: Readonly<Record<string, Readonly<Record<string, FakeLog>>>>,
): SessionReader {
  const logs = Object.assign({}, ...Object.values(sessions)) as Readonly<Record<string, FakeLog>>
  const entry = (item: Recorded | LogEntry, i: number): LogEntry =>
    'kind' in item ? item : { kind: 'event', offset: i * 100, recorded: item }
  return {
    list: async () =>
      Object.entries(sessions).map(
        ([sessionId, files]): SessionSummary => ({
          sessionId,
          startedAt: Date.UTC(2026, 10, 30, 12),
          lastAt: Date.UTC(2026, 10, 30, 13),
          firstPrompt: 'what is\nhere?',
          agents: Object.keys(files).length,
        }),
      ),
    latest: async () => Object.keys(sessions)[0],
    find: async (prefix) => {
      const found = Object.keys(sessions).find((id) => id.startsWith(prefix))
      if (found === undefined) throw new CliError(`there is no session ${prefix}`)
      return found
    },
    logsOf: async (id) => Object.keys(sessions[id] ?? {}),
    logOf: (_, agentId) => `agent-${agentId}.jsonl`,
    logsAt: async (path) => [path],
    async *read(path) {
      yield* (logs[path] ?? []).map(entry)
    },
    lineAt: async (_, offset) => offset / 100 + 1,
  }
}
