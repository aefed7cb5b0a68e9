/**
 * One process on a disk in memory, from its start to its end, and everything that a kill could have left of it.
 *
 *   M1  A process that is killed leaves what it has written, and what it has done outside, up to that moment (of a slow
 *       disk also what it had asked to be written); nothing of it goes on. So one life that is watched shows what each kill of it would have left.
 *   M2  What is left is a value: any number of processes go on from it, each on its own copy.
 *   M3  Time passes only when nothing else can happen.
 */
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createVirtualClock } from '../../src/effects/virtual-clock.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import type { SessionPaths } from '../../src/journal/paths.ts'
import { sessionPaths } from '../../src/journal/paths.ts'
import type { Storage } from '../../src/journal/storage.ts'
import { countingIds, noProcesses } from '../helpers/engine.ts'
import { observe } from '../simulation/probes.ts'
import type { Kill } from './kill.ts'
import { keptOf, linesOf } from './kill.ts'
import type { SeenState } from './live-states.ts'
import { seenOf } from './live-states.ts'
import type { Entry } from './record.ts'
import { createRecord } from './record.ts'
import type { Scenario } from './scenario.ts'
import { engineFor, SESSION, useSession } from './user.ts'
import type { Crash } from './verify.ts'

/**
 * `at-once`: an append is durable when it returns, as with the durability `write`. `slow`: it takes a turn of the event
 * loop, as with `fsync`, so that other agents go on meanwhile.
 */
export type Pace = 'at-once' | 'slow'

/** Everything that outlives a process. */
export interface Remains {
  readonly disk: ReadonlyMap<string, Uint8Array>
  readonly entries: readonly Entry[]
  /** Files of the agents' own folder. */
  readonly project: ReadonlyMap<string, Buffer>
  /** What the live agents were after each event. */
  readonly states: readonly SeenState[]
  readonly lives: number
  readonly crashes: readonly Crash[]
}

export const NOTHING: Remains = {
  disk: new Map(),
  entries: [],
  project: new Map(),
  states: [],
  lives: 0,
  crashes: [],
}

export interface Lived {
  readonly remains: Remains
  /** Lines of each append to a log. */
  readonly appends: readonly number[]
  /** What must not happen to a user or a process, in words. */
  readonly troubles: readonly string[]
  /** What would be left if the process had been killed there. */
  killedAt(kill: Kill): Remains
}

/** Where a scenario is played in memory, and on what kind of disk. */
export interface Place {
  readonly pace: Pace
  readonly home: string
  /** The agents' folder. */
  readonly project: string
  readonly paths: SessionPaths
  dispose(): void
}

const FIRST_MOMENT = Date.UTC(2030, 0, 1)
const A_DAY_MS = 86_400_000
/** After this time of the real clock a process without an end is stuck. Most take some milliseconds. */
const STUCK_MS = 20_000

/** Makes the place: with a folder of its own where the agents use files. */
export function createPlace({ usesFiles }: Scenario, pace: Pace): Place {
  const home = '/home/matrix/.troupe'
  const project =
    usesFiles === true
      ? realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-matrix-')))
      : realpathSync(process.cwd())
  return {
    pace,
    home,
    project,
    paths: sessionPaths(home, project, SESSION),
    dispose: () => {
      if (usesFiles === true) rmSync(project, { recursive: true, force: true })
    },
  }
}

/** Lets a process live on what others have left. */
export async function liveInMemory(scenario: Scenario, place: Place, before: Remains): Promise<Lived> {
  const number = before.lives + 1
  const record = createRecord(before.entries)
  const states = [...before.states]
  const clock = createVirtualClock(FIRST_MOMENT + number * A_DAY_MS)
  const memory = createMemoryStorage({ files: before.disk })
  const usesFiles = scenario.usesFiles === true
  if (usesFiles) putFiles(place.project, before.project)
  const moment = (): Moment => ({
    entries: record.entries.length,
    states: states.length,
    project: usesFiles ? filesIn(place.project) : new Map(),
  })
  const { storage, writes } = watched(memory, place.pace, moment)
  observe({
    onApplied: (agent, { seq }) => void states.push(seenOf(agent, seq)),
    onRestored: () => {},
    onLate: () => {},
  })
  const life = { number }
  const engine = engineFor(scenario, life, record, {
    storage,
    clock,
    ids: countingIds(number * 100_000),
    processes: noProcesses,
    home: place.home,
    cwd: place.project,
  })
  const troubles: string[] = []
  let isOver = false
  useSession(scenario, engine, { life, record, storage, paths: place.paths })
    .catch((error: unknown) => {
      troubles.push(`the user is told: ${error instanceof Error ? error.stack : String(error)}`)
    })
    .finally(() => {
      isOver = true
    })
  const startedAt = performance.now()
  while (!isOver && performance.now() - startedAt < STUCK_MS) {
    await turn()
    if (!isOver && clock.untilNext !== undefined) clock.advance(clock.untilNext)
  }
  if (!isOver) troubles.push('there is no end')
  observe(undefined)
  if (clock.pending > 0) troubles.push(`${clock.pending} timers are set behind the close`)
  const logWrites = writes.flatMap((write, index) => (isLog(write) ? [{ ...write, index }] : []))
  const upTo = ({ entries, states: seen, project }: Moment, disk: MemoryStorage): Remains => ({
    disk: bytesOf(disk),
    entries: record.entries.slice(0, entries),
    project,
    states: states.slice(0, seen),
    lives: number,
    crashes: before.crashes,
  })
  return {
    remains: upTo(moment(), memory),
    appends: logWrites.map(({ text }) => linesOf(text)),
    troubles,
    killedAt: ({ at, when }) => {
      const last = logWrites[at - 1]
      if (last === undefined)
        throw new Error(`a process that makes ${logWrites.length} appends dies in none of number ${at}`)
      const disk = createMemoryStorage({ files: before.disk })
      for (const write of writes.slice(0, last.index)) redo(disk, write)
      const kept = keptOf(last.text, when)
      if (kept !== '') redo(disk, { ...last, text: kept })
      const remains = upTo(last.moment, disk)
      return { ...remains, crashes: [...before.crashes, { life: number, durable: sizesOf(remains.disk) }] }
    },
  }
}

/** What of the world belongs to a moment, besides what is on the disk. */
interface Moment {
  readonly entries: number
  readonly states: number
  readonly project: ReadonlyMap<string, Buffer>
}

interface Write {
  readonly how: 'append' | 'writeWhole' | 'writeDerived'
  readonly path: string
  readonly text: string
  /** Right before it. */
  readonly moment: Moment
}

const isLog = ({ how, path: file }: Write): boolean => how === 'append' && file.endsWith('.jsonl')

/** A storage that remembers what was written, in order. */
function watched(
  memory: MemoryStorage,
  pace: Pace,
  moment: () => Moment,
): { readonly storage: Storage; readonly writes: readonly Write[] } {
  const writes: Write[] = []
  const note = (how: Write['how'], file: string, text: string): void => {
    writes.push({ how, path: file, text, moment: moment() })
  }
  return {
    writes,
    storage: {
      ...memory,
      append: (batch) => {
        if (batch.length > 1) throw new Error('the matrix does not know batches over several files yet')
        for (const { path: file, text } of batch) note('append', file, text)
        return pace === 'slow' ? turn().then(() => memory.append(batch)) : memory.append(batch)
      },
      writeWhole: (file, text) => {
        note('writeWhole', file, text)
        return memory.writeWhole(file, text)
      },
      writeDerived: (file, text) => {
        note('writeDerived', file, text)
        memory.writeDerived(file, text)
      },
    },
  }
}

function redo(disk: MemoryStorage, { how, path: file, text }: Write): void {
  if (how === 'append') void disk.append([{ path: file, text }])
  else if (how === 'writeWhole') void disk.writeWhole(file, text)
  else disk.writeDerived(file, text)
}

const bytesOf = (disk: MemoryStorage): ReadonlyMap<string, Uint8Array> =>
  new Map([...disk.files.keys()].map((file) => [file, disk.bytes(file)]))

const sizesOf = (disk: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, number> =>
  new Map([...disk].map(([file, { length }]) => [file, length]))

/** A turn of the event loop, in which every promise that can go on has gone on. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function filesIn(folder: string): ReadonlyMap<string, Buffer> {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(path.join(folder, name))]))
}

function putFiles(folder: string, files: ReadonlyMap<string, Buffer>): void {
  for (const name of readdirSync(folder)) if (!files.has(name)) rmSync(path.join(folder, name))
  for (const [name, content] of files) writeFileSync(path.join(folder, name), content)
}
