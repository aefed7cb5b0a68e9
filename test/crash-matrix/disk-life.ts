/** Real processes on real files: each life of a session is a process of its own, which kills itself where it is told to. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import type { SessionPaths } from '../../src/journal/paths.ts'
import { sessionPaths } from '../../src/journal/paths.ts'
import { markedProcesses } from '../crash/support/marked-processes.ts'
import { createFileRecord } from './file-record.ts'
import type { Final } from './final.ts'
import { createLogReader } from './final.ts'
import type { Cell, Kill } from './kill.ts'
import type { Scenario } from './scenario.ts'
import { SESSION } from './user.ts'
import type { Baseline, Crash } from './verify.ts'
import { baselineOf, problemsOf } from './verify.ts'

/** What a process is told, as JSON in its first argument. */
export interface Orders {
  readonly scenario: string
  readonly home: string
  readonly project: string
  /** The file that remembers what was done. */
  readonly record: string
  readonly life: number
  readonly kill?: Kill
}

/** A scenario without a kill: what all its cells are held against. */
export interface DiskBaseline {
  readonly baseline: Baseline
  /** Lines of each append to a log. */
  readonly appends: readonly number[]
  readonly problems: readonly string[]
}

export interface DiskCell {
  readonly problems: readonly string[]
  /** Processes that were killed; those whose session was over before their point came were not. */
  readonly kills: number
}

/** Milliseconds after which a process is stuck. */
const STUCK_MS = 60_000

/** Plays a scenario without a kill. `worker` is the compiled file. */
export async function playOnDisk(worker: string, scenario: Scenario): Promise<DiskBaseline> {
  return onStage(scenario, async (stage) => {
    const appends = (await startLife(worker, scenario, stage, 1)) ?? []
    const final = await finalOf(scenario, stage)
    return {
      appends,
      baseline: baselineOf(final),
      problems: [...problemsOf(scenario, final), ...leftovers(final)],
    }
  })
}

/** Plays one cell: a process for each kill, and one that goes on to the end. */
export async function playCellOnDisk(
  worker: string,
  scenario: Scenario,
  cell: Cell,
  { baseline }: Pick<DiskBaseline, 'baseline'>,
): Promise<DiskCell> {
  return onStage(scenario, async (stage) => {
    const crashes: Crash[] = []
    for (const kill of cell) {
      const life = crashes.length + 1
      if ((await startLife(worker, scenario, stage, life, kill)) !== undefined) break
      crashes.push({ life, durable: sizesOf(stage.paths) })
    }
    await startLife(worker, scenario, stage, crashes.length + 1)
    const final = await finalOf(scenario, stage)
    return {
      problems: [...problemsOf(scenario, final, crashes, baseline), ...leftovers(final)],
      kills: crashes.length,
    }
  })
}

interface Stage {
  readonly folder: string
  readonly home: string
  readonly project: string
  readonly record: string
  readonly paths: SessionPaths
}

async function onStage<T>({ prepare }: Scenario, play: (stage: Stage) => Promise<T>): Promise<T> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-matrix-')))
  const [home, project] = [path.join(folder, 'home'), path.join(folder, 'project')]
  try {
    for (const each of [home, project]) mkdirSync(each)
    prepare?.(project)
    const paths = sessionPaths(home, project, SESSION)
    return await play({ folder, home, project, record: path.join(folder, 'record'), paths })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The lines of each append that the process made; undefined when it was killed. Rejects when it failed or got stuck. */
function startLife(
  worker: string,
  { name }: Scenario,
  { home, project, record }: Stage,
  life: number,
  kill?: Kill,
): Promise<readonly number[] | undefined> {
  const orders: Orders = { scenario: name, home, project, record, life, ...(kill !== undefined && { kill }) }
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [worker, JSON.stringify(orders)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: STUCK_MS,
    })
    let said = ''
    let complained = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complained += text
    })
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve(undefined)
      else if (code === 0) resolve(JSON.parse(said))
      else reject(new Error(`life ${life} of ${name} ended with ${code ?? signal}: ${said}${complained}`))
    })
  })
}

async function finalOf({ usesFiles }: Scenario, { project, paths, record }: Stage): Promise<Final> {
  return {
    logs: await createLogReader().readSession(createFileStorage({ durability: 'write' }), paths),
    entries: createFileRecord(record).entries,
    project: usesFiles === true ? project : undefined,
  }
}

/** Law 9: nothing that an agent has started outlives the session. */
const leftovers = ({ logs }: Final): readonly string[] =>
  markedProcesses(logs.map(({ agentId }) => agentId)).map((process) => `${process} is left behind`)

function sizesOf({ rootLog, subagents }: SessionPaths): ReadonlyMap<string, number> {
  const files = [rootLog, ...namesIn(subagents).map((name) => path.join(subagents, name))]
  return new Map(
    files.flatMap((file) => {
      const stat = statSync(file, { throwIfNoEntry: false })
      return stat === undefined ? [] : [[file, stat.size]]
    }),
  )
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    // No child was ever started.
    return []
  }
}
