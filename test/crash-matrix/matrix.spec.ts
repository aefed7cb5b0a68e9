/**
 * Law 3: kill the process at any event boundary and resume. Every scenario, every boundary, both sides; and once more
 * during the resume. `npm run crash-matrix` plays more second kills, and all of it with real processes.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { DIRECT_RESULT } from '../simulation/faults/direct-result.ts'
import type { Fault } from '../simulation/faults/fault.ts'
import { FORGOTTEN_NOTICE } from '../simulation/faults/forgotten-notice.ts'
import { FORGOTTEN_START } from '../simulation/faults/forgotten-start.ts'
import { HALF_CONVERSATION } from '../simulation/faults/half-conversation.ts'
import { LOST_TAIL } from '../simulation/faults/lost-tail.ts'
import { SECOND_END } from '../simulation/faults/second-end.ts'
import { observe } from '../simulation/probes.ts'
import { cellNamed, nameOfCell } from './kill.ts'
import type { MatrixReport } from './matrix.ts'
import { playMatrix } from './matrix.ts'
import { loadScenarios } from './scenarios.ts'

const scenarios = (await loadScenarios()).filter(({ usesProcesses }) => usesProcesses !== true)
const reports: MatrixReport[] = []

const sum = (of: (report: MatrixReport) => number): number =>
  reports.reduce((total, report) => total + of(report), 0)

/** The problems of a report, each with the way to see it again; not all of hundreds. */
const told = ({ scenario, problems }: MatrixReport): readonly string[] =>
  problems
    .slice(0, 5)
    .map(
      ({ cell, problem }) =>
        `npm run crash-matrix -- --only memory --scenario ${scenario} --cell "${nameOfCell(cell)}": ${problem}`,
    )

/** Scenarios with the most that can happen meanwhile. */
const SLOW = [
  'deferred-review',
  'killed-child',
  'left-children',
  'nested-tree',
  'released-child',
  'three-rules',
]

describe('the crash matrix in memory', () => {
  it.each(scenarios)(
    '$name: killed at each event boundary, and again in its resume, it ends as law 3 says',
    { timeout: 120_000 },
    async (scenario) => {
      // Agents in the background are many events: their second kills are for the command.
      const most =
        scenario.isInBackground === true ? { mostTorn: 2, mostTwice: 4 } : { mostTorn: 8, mostTwice: 24 }
      const report = await playMatrix(scenario, most)
      reports.push(report)
      expect(told(report)).toEqual([])
      // A session in which nothing happens ends well wherever it is killed.
      expect(report.once).toBeGreaterThan(20)
      expect(report.twice).toBe(most.mostTwice)
    },
  )

  it.each(scenarios.filter(({ name }) => SLOW.includes(name)))(
    '$name on a slow disk: killed while other agents go on, it ends as law 3 says',
    { timeout: 120_000 },
    async (scenario) => {
      const report = await playMatrix(scenario, { mostTorn: 2, mostTwice: 6, pace: 'slow' })
      reports.push(report)
      expect(told(report)).toEqual([])
    },
  )

  afterAll(() => {
    console.log(
      `crash matrix in memory: ${scenarios.length} scenarios, ${sum(({ appends }) => appends)} appends, ` +
        `${sum(({ kills }) => kills)} kills, ${sum(({ once }) => once)} sessions killed once, ${sum(({ twice }) => twice)} killed twice`,
    )
  })
})

/** A defect of the engine, and a scenario that must show it. */
const DEFECTS: readonly { readonly fault: Fault; readonly scenario: string }[] = [
  { fault: FORGOTTEN_START, scenario: 'one-child' },
  { fault: FORGOTTEN_NOTICE, scenario: 'one-child' },
  { fault: SECOND_END, scenario: 'turn-limit' },
  { fault: HALF_CONVERSATION, scenario: 'denied-tool' },
  { fault: DIRECT_RESULT, scenario: 'failing-model' },
  { fault: LOST_TAIL, scenario: 'compaction' },
]

describe('a deliberate fault of the engine', () => {
  it.each(DEFECTS)('$fault.name is found by $scenario', async ({ fault, scenario: name }) => {
    const scenario = scenarios.find((each) => each.name === name)
    if (scenario === undefined) throw new Error(`there is no scenario ${name}`)
    // The probes are below the fault: they see what the broken engine really does.
    observe(undefined)
    const mend = fault.breakIt?.(() => {
      throw new Error('this fault needs a simulated world')
    })
    try {
      expect((await playMatrix(scenario, { mostTorn: 0, mostTwice: 0, isShort: true })).problems).not.toEqual(
        [],
      )
    } finally {
      mend?.()
    }
  })
})

describe('the name of a cell', () => {
  it.each(['7 before', '7 before, 2 after', '3 1+0.6, 1 after, 9 2+0'])('%s names it', (name) => {
    expect(nameOfCell(cellNamed(name))).toBe(name)
  })

  it('that says nothing is refused', () => {
    expect(() => cellNamed('7')).toThrow('is no kill')
  })
})
