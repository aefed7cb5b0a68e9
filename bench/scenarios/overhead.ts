/** What the engine adds to a call, and to a turn: beside the bare loop and the floor, at growing lengths. */
import type { Durability } from '../../src/journal/storage.ts'
import { inFreshProcess } from '../fresh-process.ts'
import type { Settings } from '../settings.ts'
import type { Spread } from '../statistics.ts'
import { mapSpread, spreadOf } from '../statistics.ts'
import type { Table } from '../table.ts'
import { number, spread } from '../table.ts'
import type { Work } from '../work.ts'
import type { UnitsFigures, Worker } from './units.ts'

/** Figures per call or turn, of one worker at one count. */
export interface OverheadRow {
  readonly worker: Worker
  readonly count: number
  /** First run of a process. */
  readonly coldCpuMs: Spread
  readonly cpuMs: Spread
  readonly wallMs: Spread
  readonly bytes: number
}

export interface OverheadFigures {
  readonly unit: Work['unit']
  readonly rows: readonly OverheadRow[]
  /** Bytes that the engine writes during single units. */
  readonly steps: readonly { readonly step: number; readonly bytes: number }[]
}

const WORKERS: readonly Worker[] = [
  { kind: 'bare' },
  { kind: 'floor', durability: 'write' },
  { kind: 'floor', durability: 'fsync' },
  { kind: 'engine', durability: 'write' },
  { kind: 'engine', durability: 'fsync' },
]

/** Runs the scenario for calls or for turns: figures, and the tables that show them. */
export async function reportOverhead(settings: Settings, unit: Work['unit']) {
  const counts = settings.quick ? [20] : [10, 100, 1_000]
  const processes = settings.quick ? 1 : 3
  const taken = WORKERS.flatMap((worker) =>
    counts.map((count) => ({ worker, count, runs: [] as UnitsFigures[] })),
  )
  // All take turns, so that a slow minute of the machine hits all alike.
  for (let i = 0; i < processes; i += 1) {
    for (const { worker, count, runs } of taken) {
      const warmRuns = settings.quick ? 1 : warmRunsFor(count)
      const work: Work = { unit, count }
      runs.push(await inFreshProcess(settings, 'units', { worker, work, warmRuns, folder: settings.folder }))
    }
  }
  const work: Work = { unit, count: counts.at(-1) ?? 0 }
  const bytes = await inFreshProcess(settings, 'bytes', { work, steps: counts, folder: settings.folder })
  const figures: OverheadFigures = {
    unit,
    rows: taken.map(({ worker, count, runs }) => rowOf(worker, count, runs)),
    steps: counts.map((step, i) => ({ step, bytes: bytes[i] ?? Number.NaN })),
  }
  return { figures, tables: [costTable(figures, counts), ratioTable(figures), stepTable(figures)] }
}

/** About two thousand units in all behind the first run, whatever its length: that is what makes code warm. */
const warmRunsFor = (count: number): number => Math.min(50, Math.max(3, Math.round(2_000 / count)))

function rowOf(worker: Worker, count: number, runs: readonly UnitsFigures[]): OverheadRow {
  // The first of the warm runs still compiles where runs are short.
  const warm = runs.flatMap((run) => run.warm.slice(Math.floor(run.warm.length / 2)))
  return {
    worker,
    count,
    coldCpuMs: spreadOf(runs.map(({ cold }) => cold.cpuMs / count)),
    cpuMs: spreadOf(warm.map(({ cpuMs }) => cpuMs / count)),
    wallMs: spreadOf(warm.map(({ wallMs }) => wallMs / count)),
    bytes: (runs[0]?.cold.bytes ?? Number.NaN) / count,
  }
}

function costTable({ unit, rows }: OverheadFigures, counts: readonly number[]): Table {
  return {
    title: `One ${unit}: CPU milliseconds`,
    notes: [
      'The smallest of all runs (median in brackets). A run is everything from making the engine to closing it, divided by its length. Cold is the first run of a process.',
    ],
    columns: ['', ...counts.map((count) => `at ${number(count)}`), 'cold', 'wall ms'],
    rows: WORKERS.map((worker) => {
      const own = rows.filter((row) => sameWorker(row.worker, worker))
      const last = own.at(-1)
      return [
        nameOf(worker),
        ...own.map(({ cpuMs }) => spread(cpuMs)),
        last === undefined ? '' : spread(last.coldCpuMs),
        last === undefined ? '' : spread(last.wallMs),
      ]
    }),
  }
}

function ratioTable({ unit, rows }: OverheadFigures): Table {
  const longest = Math.max(...rows.map(({ count }) => count))
  const at = (worker: Worker) => rows.find((row) => row.count === longest && sameWorker(row.worker, worker))
  const bare = at({ kind: 'bare' })?.cpuMs.min ?? Number.NaN
  return {
    title: `One ${unit}: what is added to the bare loop, at ${number(longest)}`,
    notes: [],
    columns: ['', 'CPU ms added', 'times the bare loop', 'times the floor', 'KB on disk'],
    rows: WORKERS.filter(({ kind }) => kind !== 'bare').map((worker) => {
      const row = at(worker)
      if (row === undefined || worker.kind === 'bare') return []
      const floor = at({ kind: 'floor', durability: worker.durability })?.cpuMs.min ?? Number.NaN
      return [
        nameOf(worker),
        spread(mapSpread(row.cpuMs, (ms) => ms - bare)),
        number(row.cpuMs.min / bare),
        number(row.cpuMs.min / floor),
        number(row.bytes / 1_000),
      ]
    }),
  }
}

function stepTable({ unit, steps }: OverheadFigures): Table {
  return {
    title: `State that the engine writes during one ${unit}`,
    notes: ['Logs, derived files and blobs. Flat is right.'],
    columns: ['step', 'KB'],
    rows: steps.map(({ step, bytes }) => [number(step), number(bytes / 1_000)]),
  }
}

/** How a worker is called in tables. */
export function nameOf(worker: Worker): string {
  if (worker.kind === 'bare') return 'bare loop'
  return worker.kind === 'floor' ? `floor, JSONL, ${worker.durability}` : `Troupe, ${worker.durability}`
}

function sameWorker(a: Worker, b: Worker): boolean {
  return a.kind === b.kind && durabilityOf(a) === durabilityOf(b)
}

const durabilityOf = (worker: Worker): Durability | undefined =>
  worker.kind === 'bare' ? undefined : worker.durability
