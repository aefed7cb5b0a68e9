/**
 * Git that changes a repository, through simple-git. A repository may come from anywhere: what its configuration names
 * as a program is not run, where git lets one say so.
 *
 *   G1  No hook, no file watcher, no editor, no pager, no signing program, no credential prompt; and nothing is fetched.
 *   G2  Filters that the repository itself names are off; the person's own (LFS) run, or files would be checked out raw.
 *   G3  Variables of the environment that speak to git are not passed on; they can lead elsewhere or name a program.
 *   G4  Messages are in English, because they are read.
 *   G5  Each process carries the mark of the agent that it works for, so that a resume finds what survived a crash.
 */
import { devNull } from 'node:os'
import { delimiter, isAbsolute } from 'node:path'
import { simpleGit } from 'simple-git'
import { messageOf } from '../../definitions/message-of.ts'
import { MARK_VARIABLE } from '../process/end-survivors.ts'
import { gitFailed, WorktreeError } from './worktree-error.ts'

/** What git answered. */
export interface GitAnswer {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Git in one folder. */
export interface Git {
  readonly cwd: string
  /** What it prints. Rejects with a `WorktreeError` when it fails. */
  run(args: readonly string[], options?: GitOptions): Promise<string>
  /** As {@link run}, whatever it exits with. Rejects only when git cannot be started. */
  ask(args: readonly string[], options?: GitOptions): Promise<GitAnswer>
}

/** Of one command. */
export interface GitOptions {
  /** Settings in force for it only. */
  readonly config?: readonly Setting[]
  readonly env?: Readonly<Record<string, string>>
  /** What it reads on standard input. */
  readonly input?: string
}

/** A key and its value. */
export type Setting = readonly [key: string, value: string]

const SETTINGS: readonly Setting[] = [
  ['core.hooksPath', devNull],
  ['core.fsmonitor', 'false'],
  ['core.quotePath', 'false'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['core.sshCommand', 'false'],
  ['core.askPass', ''],
  ['commit.gpgSign', 'false'],
  ['gpg.program', 'false'],
  ['diff.external', ''],
  ['color.ui', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['submodule.recurse', 'false'],
  ['advice.detachedHead', 'false'],
  ['advice.addEmbeddedRepo', 'false'],
  ['checkout.guess', 'false'],
  // What somebody set for the speed of his own status must not hide a change.
  ['core.ignoreStat', 'false'],
  ['core.checkStat', 'default'],
  ['core.untrackedCache', 'false'],
  ['status.showUntrackedFiles', 'all'],
  ['status.renames', 'false'],
]

/** What simple-git guards against, and is done here on purpose: settings by the environment, to be safe. */
const UNSAFE = {
  allowUnsafeConfigEnvCount: true,
  allowUnsafeHooksPath: true,
  allowUnsafeFsMonitor: true,
  allowUnsafePager: true,
  allowUnsafeEditor: true,
  allowUnsafeSshCommand: true,
  allowUnsafeAskPass: true,
  allowUnsafeGpgProgram: true,
  allowUnsafeDiffExternal: true,
  allowUnsafeFilter: true,
} as const

/** How git is started. */
export interface GitSurroundings {
  /** `<agent>/<what>` */
  readonly mark: string
  /** Settings for every command, such as filters that are off. */
  readonly config?: readonly Setting[]
  readonly signal?: AbortSignal | undefined
  readonly env?: NodeJS.ProcessEnv
}

/** Git for one folder, which must be there. */
export function openGit(cwd: string, surroundings: GitSurroundings): Git {
  const ask = async (args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> => {
    const config = [...SETTINGS, ...(surroundings.config ?? []), ...(options.config ?? [])]
    const given = { ...settingsAsVariables(config), ...OWN_VARIABLES, ...options.env }
    let answer: GitAnswer | undefined
    try {
      const git = simpleGit({
        baseDir: cwd,
        unsafe: UNSAFE,
        // Its end, and all that it printed.
        completion: { onClose: true, onExit: false },
        allowEnvironment: Object.keys(given),
        // The one way to an exit code, and to output of a command that says something while it succeeds.
        errors: (error, result) => {
          answer = {
            exitCode: result.exitCode,
            stdout: Buffer.concat(result.stdOut).toString('utf8'),
            stderr: Buffer.concat(result.stdErr).toString('utf8'),
          }
          return result.exitCode === 0 ? undefined : (error ?? Buffer.concat(result.stdErr))
        },
        ...(options.input !== undefined && { input: () => options.input }),
        ...(surroundings.signal !== undefined && { abort: surroundings.signal }),
      })
        .outputHandler((_command, stdout) => saysItsEnd(stdout))
        .env({ ...inherited(surroundings.env ?? process.env), ...given, [MARK_VARIABLE]: surroundings.mark })
      const stdout = await git.raw([...args])
      return answer ?? { exitCode: 0, stdout, stderr: '' }
    } catch (error) {
      surroundings.signal?.throwIfAborted()
      // Without an exit code of its own git was not started, or not heard to its end.
      if (answer !== undefined && answer.exitCode > 0) return answer
      const reason = messageOf(error)
      throw new WorktreeError(
        'worktree-git-failed',
        `git ${args.join(' ')} could not be run in ${cwd}: ${reason.trim()}. Is git installed, and the folder there?`,
        error,
      )
    }
  }
  return {
    cwd,
    ask,
    async run(args, options) {
      const answer = await ask(args, options)
      if (answer.exitCode !== 0) throw gitFailed(args, cwd, answer)
      return answer.stdout
    },
  }
}

/**
 * After a command that printed nothing simple-git waits 50 ms more, in case something is still to come. Once the pipe is
 * closed nothing is: an empty chunk tells it so. Half of the commands here print nothing.
 */
function saysItsEnd(stdout: NodeJS.ReadableStream): void {
  stdout.once('close', () => stdout.emit('data', Buffer.alloc(0)))
}

const OWN_VARIABLES = {
  GIT_TERMINAL_PROMPT: '0',
  // Missing objects would be fetched, by a transport that the repository chooses.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
} as const

function inherited(env: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(env).filter(
    ([name, value]) =>
      value !== undefined && !/^(?:git_|ssh_askpass$|editor$|visual$|pager$|prefix$|lc_|lang)/iu.test(name),
  )
  return {
    // Filtered above.
    ...(Object.fromEntries(kept) as Record<string, string>),
    // A relative entry would look for git in the repository.
    PATH: (env['PATH'] ?? '').split(delimiter).filter(isAbsolute).join(delimiter),
    LC_ALL: 'C',
  }
}

/** Not by `-c`, which takes a key apart at its first `=`: a repository can have keys with one in them. */
function settingsAsVariables(config: readonly Setting[]): Record<string, string> {
  return {
    GIT_CONFIG_COUNT: String(config.length),
    ...Object.fromEntries(
      config.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  }
}

/** The commit that a revision names; undefined where it names none. */
export async function commitAt(git: Git, revision: string): Promise<string | undefined> {
  const { exitCode, stdout } = await git.ask(['rev-parse', '--verify', '--quiet', `${revision}^{commit}`])
  return exitCode === 0 ? stdout.trim() : undefined
}

/** Whether there is a branch of that name, whatever state it is in. */
export async function hasBranch(git: Git, branch: string): Promise<boolean> {
  return (await git.ask(['show-ref', '--verify', '--quiet', `refs/heads/${branch}`])).exitCode === 0
}

/** The entries of what git prints with `-z`. */
export const entriesOf = (printed: string): readonly string[] =>
  printed.split('\0').filter((entry) => entry !== '')

/** More than a sane repository has; each costs two environment variables. */
const MAX_FILTERS = 100

/**
 * Settings that turn off the filters and merge drivers that a repository itself names. Rejects with a `WorktreeError`
 * when there are too many of them to be sure: then nothing is done that might run one.
 */
export async function programsOff(git: Git): Promise<readonly Setting[]> {
  const listed = await git.run(['config', '--list', '--null', '--name-only', '--show-scope'])
  const fields = listed.split('\0')
  const off = new Map<string, string>()
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [scope, key = ''] = [fields[at], fields[at + 1]]
    if (scope !== 'local' && scope !== 'worktree') continue
    const filter = /^filter\.([\s\S]+)\.[a-z]+$/u.exec(key)?.[1]
    if (filter !== undefined) {
      for (const each of ['clean', 'smudge', 'process']) off.set(`filter.${filter}.${each}`, '')
      off.set(`filter.${filter}.required`, 'false')
    }
    const driver = /^merge\.([\s\S]+)\.driver$/u.exec(key)?.[1]
    // A driver that always fails is a conflict, which a person resolves.
    if (driver !== undefined) off.set(`merge.${driver}.driver`, 'false')
  }
  if (off.size > MAX_FILTERS * 4)
    throw new WorktreeError(
      'worktree-git-failed',
      `The repository of ${git.cwd} names more filters than can be turned off, so nothing is done with its files.`,
    )
  return [...off]
}
