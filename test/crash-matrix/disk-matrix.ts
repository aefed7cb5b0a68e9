/** The crash matrix with real processes on a real disk, some cells at a time. */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { messageOf } from '../../src/engine/errors.ts'
import { compileWorker } from '../crash/support/compile-worker.ts'
import type { DiskBaseline, DiskCell } from './disk-life.ts'
import { playCellOnDisk, playOnDisk } from './disk-life.ts'
import type { Cell, Kill } from './kill.ts'
import { killsIn, spread, tearsIn } from './kill.ts'
import type { CellProblem, MatrixOptions, MatrixReport } from './matrix.ts'
import type { Scenario } from './scenario.ts'

/** Processes that live at the same time. Most of their time they start. */
const AT_ONCE = 2
/** A second kill comes in one of the first appends of a resume, as this many are in each. */
const SECOND_KILLS = 4

export interface DiskMatrix extends AsyncDisposable {
  playWhole(scenario: Scenario): Promise<DiskBaseline>
  playCell(scenario: Scenario, cell: Cell, baseline: DiskBaseline): Promise<DiskCell>
  /** The chosen cells of a scenario, some at a time. */
  playCells(scenario: Scenario, cells: readonly Cell[], baseline: DiskBaseline): Promise<PlayedCells>
  /** All cells with one kill, and as many with two as are wanted. */
  playMatrix(scenario: Scenario, options: MatrixOptions): Promise<MatrixReport>
}

export interface PlayedCells {
  readonly problems: readonly CellProblem[]
  /** Processes that were killed. Agents race, so that one may come to its end before the append of its kill. */
  readonly kills: number
}

/** Compiles the worker and the scenarios. */
export async function useDiskWorker(): Promise<DiskMatrix> {
  const folder = import.meta.dirname
  const scenarios = readdirSync(path.join(folder, 'scenarios')).map((name) => path.parse(name).name)
  const worker = await compileWorker(
    path.join(folder, 'worker.ts'),
    Object.fromEntries(
      scenarios.map((name) => [`scenarios/${name}`, path.join(folder, 'scenarios', `${name}.ts`)]),
    ),
  )
  const matrix: DiskMatrix = {
    playWhole: (scenario) => playOnDisk(worker.path, scenario),
    playCell: (scenario, cell, baseline) => playCellOnDisk(worker.path, scenario, cell, baseline),
    playCells: async (scenario, cells, baseline) => {
      const problems: CellProblem[] = []
      let kills = 0
      const waiting = [...cells]
      const work = async (): Promise<void> => {
        for (let cell = waiting.shift(); cell !== undefined; cell = waiting.shift()) {
          const played = await matrix
            .playCell(scenario, cell, baseline)
            .catch((error: unknown): DiskCell => ({ kills: 0, problems: [messageOf(error)] }))
          kills += played.kills
          for (const problem of played.problems) problems.push({ cell, problem })
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      return { problems, kills }
    },
    playMatrix: async (scenario, { mostTorn = 0, mostTwice = 0 }) => {
      const whole = await matrix.playWhole(scenario)
      const points = [...killsIn(whole.appends), ...spread(tearsIn(whole.appends), mostTorn)]
      const once = points.map((kill) => [kill])
      const twice = spread(once.flatMap(secondKills), mostTwice)
      const { kills, problems } = await matrix.playCells(scenario, [...once, ...twice], whole)
      return {
        scenario: scenario.name,
        appends: whole.appends.length,
        lines: whole.appends.reduce((sum, lines) => sum + lines, 0),
        kills,
        once: once.length,
        twice: twice.length,
        problems: [...whole.problems.map((problem) => ({ cell: [], problem })), ...problems],
      }
    },
    [Symbol.asyncDispose]: async () => worker.dispose(),
  }
  return matrix
}

/** Cells with a second kill: in each of the first appends of the resume, on both sides in turn. */
export const secondKills = (cell: Cell): readonly Cell[] =>
  Array.from({ length: SECOND_KILLS }, (_, i): readonly Kill[] => [
    ...cell,
    { at: i + 1, when: i % 2 === 0 ? 'after' : 'before' },
  ])
