/**
 * Git that only looks. A repository may come from anywhere, and its configuration, attributes and environment name
 * programs that git runs at the slightest occasion; none of them is run here.
 */
import { type ExecFileOptions, execFile } from 'node:child_process'
import { devNull } from 'node:os'
import { delimiter, isAbsolute } from 'node:path'

/** What git answered. */
export interface GitOutcome {
  /** Null: it could not be started, was ended after its time, or printed more than is kept. */
  readonly exitCode: number | null
  readonly stdout: string
  /** True when `stdout` is only the start of what it printed. */
  readonly isCut: boolean
}

/** Runs one git command in one folder. `config` holds settings for this command only. Never rejects. */
export type RunGit = (
  args: readonly string[],
  config?: readonly (readonly [key: string, value: string])[],
) => Promise<GitOutcome>

/** Where and how long. */
export interface GitRunnerOptions {
  readonly cwd: string
  /** For each command, in milliseconds; default 5,000. */
  readonly timeoutMs?: number
  /** Bytes of output that are kept, default 64 KB; a command that prints more is ended. */
  readonly maxBytes?: number
  readonly signal?: AbortSignal
  readonly env?: NodeJS.ProcessEnv
}

const SETTINGS: readonly string[] = [
  // A program that watches files, programs at events, a program that shows signatures.
  'core.fsmonitor=false',
  `core.hooksPath=${devNull}`,
  'log.showSignature=false',
  // A folder that merely looks like a bare repository must be asked for by name.
  'safe.bareRepository=explicit',
  'core.quotePath=false',
  'color.ui=false',
]

/** A runner for read-only commands. */
export function createGitRunner(options: GitRunnerOptions): RunGit {
  const { cwd, timeoutMs = 5_000, maxBytes = 64 * 1024, signal, env = process.env } = options
  const fixed = [
    '--no-pager',
    '--no-optional-locks',
    '--no-replace-objects',
    ...SETTINGS.flatMap((each) => ['-c', each]),
  ]
  return async (args, config = []) => {
    const all = {
      cwd,
      env: cleanEnvironment(env, config),
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: maxBytes,
      ...(signal !== undefined && { signal }),
    } as const
    try {
      return await outcomeOf([...fixed, ...args], all)
    } catch {
      // Thrown before anything is started, for what no process can be given: a NUL in a path.
      return { exitCode: null, stdout: '', isCut: false }
    }
  }
}

function outcomeOf(args: readonly string[], options: ExecFileOptions): Promise<GitOutcome> {
  return new Promise((resolve) => {
    execFile('git', args, { ...options, encoding: 'utf8' }, (error, stdout) => {
      const isCut = error !== null && error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER'
      const failed = error !== null && typeof error.code === 'number' ? error.code : null
      resolve({ exitCode: error === null ? 0 : failed, stdout, isCut })
    })
  })
}

/** The environment without `GIT_*`: such a variable can lead elsewhere or name a program. */
function cleanEnvironment(
  env: NodeJS.ProcessEnv,
  config: readonly (readonly [key: string, value: string])[],
): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('GIT_'))
  // Not by `-c`, which takes a key apart at its first `=`: a repository can have keys with one in them.
  const settings = config.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return {
    ...Object.fromEntries([...kept, ...settings]),
    // A relative entry would look for git in the repository.
    PATH: (env['PATH'] ?? '').split(delimiter).filter(isAbsolute).join(delimiter),
    GIT_CONFIG_COUNT: String(config.length),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    // Missing objects would be fetched, by a transport that the repository chooses.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    LC_ALL: 'C',
  }
}
