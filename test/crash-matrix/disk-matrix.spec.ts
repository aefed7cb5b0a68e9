/**
 * The crash matrix with real processes, real files and SIGKILL. Here some cells of some scenarios, chosen by a seed;
 * `npm run crash-matrix -- --only disk` plays every boundary of every scenario. `TROUPE_CRASH_SEED` sets the seed.
 */
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chanceFrom } from '../simulation/chance.ts'
import type { DiskMatrix } from './disk-matrix.ts'
import { secondKills, useDiskWorker } from './disk-matrix.ts'
import type { Cell } from './kill.ts'
import { killsIn, nameOfCell, tearsIn } from './kill.ts'
import { loadScenarios } from './scenarios.ts'

const SEED = Number(process.env['TROUPE_CRASH_SEED'] ?? randomInt(2 ** 31))
/** Cells of each scenario: with one kill between lines, with one within a line, with two. */
const CELLS = { between: 3, within: 1, twice: 1 }
const PLAYED = [
  'bash-ledger',
  'eight-parallel-children',
  'keyed-write',
  'moved-shell',
  'nested-tree',
  'one-child',
  'released-child',
  'worktrees',
]

const scenarios = (await loadScenarios()).filter(({ name }) => PLAYED.includes(name))
const chance = chanceFrom(SEED, 'crash matrix')

let disk: DiskMatrix
beforeAll(async () => {
  disk = await useDiskWorker()
})
afterAll(() => disk[Symbol.asyncDispose]())

describe(`the crash matrix on a real disk, seed ${SEED}`, () => {
  it.each(scenarios)(
    '$name: killed with SIGKILL at an event boundary, it ends as law 3 says',
    { timeout: 120_000 },
    async (scenario) => {
      const whole = await disk.playWhole(scenario)
      expect(whole.problems).toEqual([])
      const between = killsIn(whole.appends).map((kill) => [kill])
      const within = tearsIn(whole.appends).map((kill) => [kill])
      const pick = (cells: readonly Cell[], most: number): readonly Cell[] =>
        Array.from({ length: most }, () => chance.pick(cells))
      const { kills, problems } = await disk.playCells(
        scenario,
        [
          ...pick(between, CELLS.between),
          ...pick(within, CELLS.within),
          ...pick(between.flatMap(secondKills), CELLS.twice),
        ],
        whole,
      )
      expect(
        problems.map(
          ({ cell, problem }) =>
            `npm run crash-matrix -- --only disk --scenario ${scenario.name} --cell "${nameOfCell(cell)}": ${problem}`,
        ),
      ).toEqual([])
      expect(kills).toBeGreaterThan(CELLS.between)
    },
  )
})
