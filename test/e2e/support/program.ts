/**
 * The built program as a process of its own, in folders of its own.
 *
 *     await using place = createPlace({ 'src/a.ts': 'export const a = 1' })
 *     const { code, stdout } = await place.troupe(['-p', 'where is a?'])
 */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export const REPO = path.resolve(import.meta.dirname, '../../..')
export const CLI = path.join(REPO, 'dist/cli.js')

/** Milliseconds after which a program that does not end is killed: no test waits so long for a good reason. */
const PATIENCE_MS = 60_000

/** A variable set to undefined is taken away. */
export type Variables = Readonly<Record<string, string | undefined>>

export interface Finished {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly pid: number
  readonly finished: Promise<Finished>
  kill(signal: NodeJS.Signals): void
}

export interface StartOptions {
  readonly env?: Variables
  readonly cwd?: string
  /** Default: nothing, as from `/dev/null`. */
  readonly stdin?: string
  /** Default: who we are. */
  readonly user?: { readonly uid?: number; readonly gid?: number }
}

/** A project, a home and a journal, gone when the test is over, with every process that was started in it. */
export interface Place extends AsyncDisposable {
  readonly root: string
  readonly project: string
  readonly home: string
  readonly troupeHome: string
  start(args: readonly string[], options?: StartOptions): Started
  troupe(args: readonly string[], options?: StartOptions): Promise<Finished>
  /** Every log below the journal, by its path: the roots' before their children's. */
  logs(): ReadonlyMap<string, string>
}

/** Makes a place. `files` are those of the project, by their path in it. */
export function createPlace(files: Readonly<Record<string, string>> = {}): Place {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-e2e-')))
  const [project, home, troupeHome] = ['project', 'home', 'journal'].map((name) => path.join(root, name)) as [
    string,
    string,
    string,
  ] // Three names, three paths.
  mkdirSync(project)
  mkdirSync(home)
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(project, name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const running = new Set<Started>()
  const start: Place['start'] = (args, { env = {}, ...options } = {}) => {
    const started = startProgram([CLI, ...args], {
      cwd: project,
      ...options,
      env: { HOME: home, TROUPE_HOME: troupeHome, ...env },
    })
    running.add(started)
    void started.finished.finally(() => running.delete(started))
    return started
  }
  return {
    root,
    project,
    home,
    troupeHome,
    start,
    troupe: (args, options) => start(args, options).finished,
    logs: () => new Map(filesBelow(troupeHome, '.jsonl').map((file) => [file, readFileSync(file, 'utf8')])),
    async [Symbol.asyncDispose]() {
      const left = [...running]
      for (const started of left) started.kill('SIGKILL')
      await Promise.all(left.map(({ finished }) => finished))
      rmSync(root, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** Starts Node with exactly these arguments, and of our environment only what any program needs. */
export function startProgram(
  args: readonly string[],
  { env = {}, cwd, stdin, user = {} }: StartOptions & { readonly cwd: string },
): Started {
  const child = spawn(process.execPath, args, {
    cwd,
    ...user,
    env: { PATH: process.env['PATH'], LANG: 'C.UTF-8', ...env },
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  child.stdin?.on('error', () => {})
  child.stdin?.end(stdin)
  const finished = untilFinished(child)
  if (child.pid === undefined) throw new Error(`node ${args.join(' ')} could not be started`)
  return { pid: child.pid, finished, kill: (signal) => void child.kill(signal) }
}

async function untilFinished(child: ChildProcess): Promise<Finished> {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const patience = setTimeout(() => {
    stderr += `\nthe test killed it after ${PATIENCE_MS} ms`
    child.kill('SIGKILL')
  }, PATIENCE_MS)
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (...end) => resolve(end))
  }).finally(() => clearTimeout(patience))
  return { code, signal, stdout, stderr }
}

/** All files below a folder with such an end, in the order of their names; none when there is no folder. */
export function filesBelow(folder: string, end = ''): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && entry.name.endsWith(end))
      .map((entry) => path.join(entry.parentPath, entry.name))
      .sort((a, b) => a.split(path.sep).length - b.split(path.sep).length || (a < b ? -1 : 1))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** Looks until there is something, or throws after half a minute. For what another process does. */
export async function until<T>(look: () => T | undefined | false, what: string): Promise<T> {
  for (const giveUpAt = Date.now() + 30_000; ; await delay(10)) {
    const seen = look()
    if (seen !== undefined && seen !== false) return seen
    if (Date.now() > giveUpAt) throw new Error(`waited half a minute for ${what}, in vain`)
  }
}

/** Whether a process runs (one that has ended and was not waited for does not). */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return process.platform !== 'linux'
  }
}

export type Json = Readonly<Record<string, unknown>>

/** Lines of JSON. */
export const jsonLines = (text: string): Json[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
