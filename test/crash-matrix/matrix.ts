/**
 * The crash matrix in memory: a scenario, killed at each of its event boundaries, on both sides and within each append,
 * and resumed; and killed once more in each resume.
 */
import { createHash } from 'node:crypto'
import { createMemoryStorage } from '../../src/journal/memory-storage.ts'
import type { Final, LogReader } from './final.ts'
import { createLogReader } from './final.ts'
import type { Cell } from './kill.ts'
import { killsIn, spread, tearsIn } from './kill.ts'
import { differences } from './live-states.ts'
import type { Lived, Pace, Place, Remains } from './memory-life.ts'
import { createPlace, liveInMemory, NOTHING } from './memory-life.ts'
import type { Scenario } from './scenario.ts'
import type { Baseline } from './verify.ts'
import { baselineOf, problemsOf } from './verify.ts'

/** In each so many cells another process looks whether the end is one. */
const LOOKS_AGAIN = 4

export interface CellProblem {
  readonly cell: Cell
  readonly problem: string
}

export interface MatrixReport {
  readonly scenario: string
  /** Appends to logs without a kill, and the lines that they bring. */
  readonly appends: number
  readonly lines: number
  /** In memory: points of a first kill, of which some leave the very same and are played once. On a disk: processes killed. */
  readonly kills: number
  /** Sessions with one kill. */
  readonly once: number
  /** Sessions with two kills. */
  readonly twice: number
  readonly problems: readonly CellProblem[]
}

export interface MatrixOptions {
  /** Kills within a line, at most; spread evenly. Default: one in every append. */
  readonly mostTorn?: number
  /** Sessions with a second kill, at most; spread evenly over all that there are. Default: all. */
  readonly mostTwice?: number
  /** Default: `at-once`. */
  readonly pace?: Pace
  /** Whether the first problem is enough. */
  readonly isShort?: boolean
}

/** Plays the cells of a scenario: all with one kill, and as many with two as are wanted. */
export async function playMatrix(
  scenario: Scenario,
  {
    mostTorn = Number.POSITIVE_INFINITY,
    mostTwice = Number.POSITIVE_INFINITY,
    pace = 'at-once',
    isShort = false,
  }: MatrixOptions = {},
): Promise<MatrixReport> {
  return inPlace(scenario, pace, async (stage) => {
    const { whole, baseline } = stage
    const problems: CellProblem[] = stage.problems.map((problem) => ({ cell: [], problem }))
    let played = 0
    const play = async (cell: Cell, left: Remains): Promise<Lived> => {
      played += 1
      const looks = played % LOOKS_AGAIN === 0
      const ended = await goOn(stage, left, { baseline, looks })
      for (const problem of ended.problems) problems.push({ cell, problem })
      return ended.lived
    }
    const known = new Set<string>()
    const kills = [...killsIn(whole.appends), ...spread(tearsIn(whole.appends), mostTorn)]
    const second: { readonly cell: Cell; readonly left: () => Remains }[] = []
    for (const first of kills) {
      const left = whole.killedAt(first)
      const key = fingerprintOf(left)
      if (known.has(key)) continue
      known.add(key)
      if (isShort && problems.length > 0) break
      const resumed = await play([first], left)
      for (const kill of killsIn(resumed.appends))
        second.push({ cell: [first, kill], left: () => resumed.killedAt(kill) })
    }
    const chosen = spread(second, mostTwice)
    for (const { cell, left } of chosen) await play(cell, left())
    return {
      scenario: scenario.name,
      appends: whole.appends.length,
      lines: whole.appends.reduce((sum, lines) => sum + lines, 0),
      kills: kills.length,
      once: known.size,
      twice: chosen.length,
      problems,
    }
  })
}

/** Plays one cell, with any number of kills. Returns what is wrong with it. */
export async function playCell(
  scenario: Scenario,
  cell: Cell,
  pace: Pace = 'at-once',
): Promise<readonly string[]> {
  return inPlace(scenario, pace, async (stage) => {
    let lived = stage.whole
    let left: Remains = NOTHING
    for (const [i, kill] of cell.entries()) {
      if (i > 0) lived = await liveInMemory(scenario, stage.place, left)
      left = lived.killedAt(kill)
    }
    return cell.length === 0 ? stage.problems : (await goOn(stage, left, { ...stage, looks: true })).problems
  })
}

interface Stage {
  readonly scenario: Scenario
  readonly place: Place
  readonly reader: LogReader
  /** The process that nobody kills. */
  readonly whole: Lived
  readonly baseline: Baseline
  /** What is wrong without any kill. */
  readonly problems: readonly string[]
}

async function inPlace<T>(scenario: Scenario, pace: Pace, play: (stage: Stage) => Promise<T>): Promise<T> {
  const place = createPlace(scenario, pace)
  try {
    const reader = createLogReader()
    const { lived, final, problems } = await goOn({ scenario, place, reader }, NOTHING, { looks: true })
    return await play({ scenario, place, reader, whole: lived, baseline: baselineOf(final), problems })
  } finally {
    place.dispose()
  }
}

/** Lets the session go on to its end, and holds it to everything that must be true there. */
async function goOn(
  { scenario, place, reader }: Pick<Stage, 'scenario' | 'place' | 'reader'>,
  left: Remains,
  { baseline, looks }: { readonly baseline?: Baseline; readonly looks: boolean },
): Promise<{ readonly lived: Lived; readonly final: Final; readonly problems: readonly string[] }> {
  const lived = await liveInMemory(scenario, place, left)
  const { disk, entries, states, crashes } = lived.remains
  const final: Final = {
    logs: await reader.readSession(createMemoryStorage({ files: disk }), place.paths),
    entries,
    project: scenario.usesFiles === true ? place.project : undefined,
  }
  return {
    lived,
    final,
    problems: [
      ...lived.troubles,
      ...problemsOf(scenario, final, crashes, baseline),
      ...differences(final.logs, states),
      ...(looks ? await lastLook(scenario, place, lived.remains) : []),
    ],
  }
}

/**
 * What a resume depends on: the disk, and what bodies have done. A request that was made and not answered is not known
 * to anybody but the model, which answers it again; so a kill behind it leaves what one in front of it does.
 */
function fingerprintOf({ disk, project, entries }: Remains): string {
  const hash = createHash('sha1')
  for (const [file, bytes] of [...disk, ...project]) hash.update(`${file} ${bytes.length} `).update(bytes)
  return hash.update(JSON.stringify(entries.filter(({ kind }) => kind !== 'request'))).digest('hex')
}

/** Another process finds nothing to do, and leaves everything as it was, but for what can be made again. */
async function lastLook(scenario: Scenario, place: Place, left: Remains): Promise<readonly string[]> {
  const { remains, troubles } = await liveInMemory(scenario, place, left)
  const touched = [...remains.disk].flatMap(([file, bytes]) =>
    file.includes('/snapshots/') || Buffer.compare(bytes, left.disk.get(file) ?? Buffer.alloc(0)) === 0
      ? []
      : [file],
  )
  return [
    ...troubles,
    ...touched.map((file) => `a resume of what is over changes ${file}`),
    ...(remains.entries.length > left.entries.length ? ['a resume of what is over does something'] : []),
  ]
}
