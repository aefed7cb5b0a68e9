/**
 * `npm run crash-matrix`: every scenario, killed at each of its event boundaries and resumed, in memory and then with
 * real processes on a real disk. `-- --scenario NAME` plays one; `--cell "7 before, 2 after"` one cell of it, with all
 * that is wrong. `--only memory|disk`; `--twice N`: sessions with a second kill per scenario, at most.
 */
import { parseArgs } from 'node:util'
import { useDiskWorker } from './disk-matrix.ts'
import { cellNamed, nameOfCell } from './kill.ts'
import type { MatrixReport } from './matrix.ts'
import { playCell, playMatrix } from './matrix.ts'
import { loadScenarios } from './scenarios.ts'

const { values } = parseArgs({
  options: {
    scenario: { type: 'string' },
    cell: { type: 'string' },
    only: { type: 'string' },
    twice: { type: 'string' },
  },
})

const PACES = ['at-once', 'slow'] as const

const all = await loadScenarios()
const scenarios = all.filter(({ name }) => values.scenario === undefined || name === values.scenario)
if (scenarios.length === 0)
  throw new Error(`there is no scenario ${values.scenario}: ${all.map(({ name }) => name).join(', ')}`)

if (values.only !== 'disk') await inMemory()
if (values.only !== 'memory') await onDisk()

async function inMemory(): Promise<void> {
  const mostTwice = Number(values.twice ?? 1_000)
  for (const scenario of scenarios) {
    if (scenario.usesProcesses === true) continue
    for (const pace of PACES) {
      if (values.cell !== undefined)
        say(`memory, ${pace}, ${scenario.name}`, await playCell(scenario, cellNamed(values.cell), pace))
      else tell(`memory, ${pace}`, await timed(() => playMatrix(scenario, { mostTwice, pace })))
    }
  }
}

async function onDisk(): Promise<void> {
  await using disk = await useDiskWorker()
  for (const scenario of scenarios) {
    if (values.cell !== undefined) {
      const baseline = await disk.playWhole(scenario)
      say(
        `disk, ${scenario.name}`,
        (await disk.playCell(scenario, cellNamed(values.cell), baseline)).problems,
      )
    } else
      tell('disk', await timed(() => disk.playMatrix(scenario, { mostTwice: Number(values.twice ?? 20) })))
  }
}

interface Timed {
  readonly report: MatrixReport
  readonly seconds: number
}

async function timed(play: () => Promise<MatrixReport>): Promise<Timed> {
  const startedAt = performance.now()
  const report = await play()
  return { report, seconds: (performance.now() - startedAt) / 1_000 }
}

function tell(where: string, { report, seconds }: Timed): void {
  const { scenario, appends, lines, kills, once, twice, problems } = report
  console.log(
    `${where}, ${scenario}: ${appends} appends, ${lines} lines; ${kills} kills; ${once} sessions killed once, ${twice} twice; ` +
      `${problems.length === 0 ? 'all as they must be' : `${problems.length} problems`}; ${seconds.toFixed(1)} s`,
  )
  for (const { cell, problem } of problems)
    console.log(`  --scenario ${scenario} --cell "${nameOfCell(cell)}": ${problem}`)
  if (problems.length > 0) process.exitCode = 1
}

function say(scenario: string, problems: readonly string[]): void {
  console.log(problems.length === 0 ? `${scenario}: as it must be` : [scenario, ...problems].join('\n  '))
  if (problems.length > 0) process.exitCode = 1
}
