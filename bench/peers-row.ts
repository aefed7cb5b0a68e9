/** Our row beside the floor, in the form of the table of peers. */
import type { ChildrenRow } from './scenarios/children.ts'
import type { OverheadFigures, OverheadRow } from './scenarios/overhead.ts'
import type { Table } from './table.ts'
import { list, number } from './table.ts'

/** The table, from the figures of the calls and of the children at once. */
export function peersTable(calls: OverheadFigures, children: readonly ChildrenRow[]): Table {
  const longest = Math.max(...calls.rows.map(({ count }) => count))
  const steps = calls.steps.map(({ step }) => step)
  const rssOf = (worker: ChildrenRow['worker']) => {
    const row = children.find((candidate) => candidate.worker === worker)
    return row === undefined ? '–' : `${number(row.peakRssMb.min)} MB`
  }
  const cpuOf = (kind: 'floor' | 'engine', figure: 'cpuMs' | 'coldCpuMs' = 'cpuMs') =>
    list(
      (['write', 'fsync'] as const).map(
        (durability) => find(calls.rows, kind, durability, longest)?.[figure].min ?? Number.NaN,
      ),
    )
  const floorKb = (find(calls.rows, 'floor', 'write', longest)?.bytes ?? Number.NaN) / 1_000
  return {
    title: 'Beside the peers',
    notes: [
      `Smallest of all runs, code warm. In the first run of a process: floor ${cpuOf('floor', 'coldCpuMs')}, Troupe ${cpuOf('engine', 'coldCpuMs')}.`,
    ],
    columns: [
      '',
      `CPU ms per call at ${number(longest)} calls`,
      `state written per call at step ${list(steps)}`,
      'peak RSS, all children at once',
    ],
    rows: [
      ['floor, JSONL / with fsync', cpuOf('floor'), `${list(steps.map(() => floorKb))} KB`, rssOf('floor')],
      [
        'Troupe, write / fsync',
        cpuOf('engine'),
        `${list(calls.steps.map(({ bytes }) => bytes / 1_000))} KB`,
        rssOf('engine'),
      ],
      ['aims', '0.50 / 1.00', '6 KB, flat', '120 MB'],
    ],
  }
}

function find(
  rows: readonly OverheadRow[],
  kind: 'floor' | 'engine',
  durability: 'write' | 'fsync',
  count: number,
): OverheadRow | undefined {
  return rows.find(
    ({ worker, count: at }) => worker.kind === kind && worker.durability === durability && at === count,
  )
}
