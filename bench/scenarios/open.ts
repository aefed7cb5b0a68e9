/**
 * What a long log costs: opening its session with and without a snapshot, and reading it in a stream, both beside
 * reading the bytes of the file alone. Every figure is of a process of its own.
 */
import { rmSync } from 'node:fs'
import type { Run } from '../../src/engine/api.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import { sessionPaths } from '../../src/journal/paths.ts'
import { readLog } from '../../src/journal/read-log.ts'
import { SessionId } from '../../src/machines/ids.ts'
import type { Cost } from '../clocks.ts'
import { costOf } from '../clocks.ts'
import { newFolder } from '../folders.ts'
import { inFreshProcess } from '../fresh-process.ts'
import { createLongLog } from '../long-log.ts'
import type { Settings } from '../settings.ts'
import { spreadOf } from '../statistics.ts'
import type { Table } from '../table.ts'
import { number, spread } from '../table.ts'
import { modelFor, PROMPT } from '../work.ts'

const SESSION = SessionId.parse('5e551011-0000-4000-8000-000000000001')
/** Events between two snapshots, as engines have it by default: the longest tail that a crash leaves. */
const TAIL = 2_000

/**
 * `file`: its bytes, nothing else. `stream`: every event, checked, one at a time. `open`: its session. `ask`: the
 * session, and the next run up to its first request.
 */
export type LongLogWork = 'file' | 'stream' | 'open' | 'ask'

export interface LongLogInput {
  readonly work: LongLogWork
  readonly home: string
}

export interface LongLogFigures extends Cost {
  /** The most memory that the process had, in MB. */
  readonly peakMb: number
}

interface Row {
  readonly what: string
  readonly runs: readonly LongLogFigures[]
}

/** Runs the scenario of opening: figures, and the table that shows them. */
export async function reportOpening(settings: Settings) {
  const count = settings.quick ? 5_000 : 100_000
  const home = newFolder(settings.folder)
  const paths = sessionPaths(home, home, SESSION)
  const log = createLongLog(paths.rootLog, SESSION, home)
  const repeats = settings.quick ? 1 : 5
  const rows: Row[] = []
  const measure = async (what: string, work: LongLogWork): Promise<void> => {
    const runs: LongLogFigures[] = []
    for (let i = 0; i < repeats; i += 1) {
      runs.push(await inFreshProcess(settings, 'longLog', { work, home }))
    }
    rows.push({ what, runs })
  }

  log.appendRun(count - TAIL)
  await leaveSnapshot(home)
  log.appendRun(TAIL)
  await measure('reading the file alone', 'file')
  await measure(`opening, snapshot ${number(TAIL)} events ago`, 'open')
  rmSync(paths.snapshots, { recursive: true })
  await measure('opening, no snapshot', 'open')
  await leaveSnapshot(home)
  await measure('opening, snapshot at its end', 'open')
  // The last, as every repeat makes the log longer by a run.
  await measure('… and on to the first request', 'ask')
  const figures = { events: log.events, bytes: log.bytes, rows }
  return { figures, tables: [openingTable(figures)] }
}

function openingTable(figures: {
  readonly events: number
  readonly bytes: number
  readonly rows: readonly Row[]
}): Table {
  return {
    title: `Opening a log of ${number(figures.events)} events (${number(figures.bytes / 1e6)} MB)`,
    notes: [
      'The smallest of all processes (median in brackets). Opening gives the state and lets the next prompt in; the first request reads the conversation and compares it with the snapshot.',
    ],
    columns: ['', 'ms', 'CPU, ms', 'peak memory, MB'],
    rows: figures.rows.map(({ what, runs }) => [
      what,
      spread(spreadOf(runs.map(({ wallMs }) => wallMs))),
      spread(spreadOf(runs.map(({ cpuMs }) => cpuMs))),
      number(Math.round(spreadOf(runs.map(({ peakMb }) => peakMb)).min)),
    ]),
  }
}

/** Opens and closes the session: the close writes the snapshot. */
async function leaveSnapshot(home: string): Promise<void> {
  const engine = engineFor(home)
  await engine.resume(SESSION)
  await engine.close()
}

/** Runs the scenario of streaming: figures, and the table that shows them. */
export async function reportStreaming(settings: Settings) {
  const sizes = settings.quick ? [10] : [settings.logMb / 10, settings.logMb]
  const figures = []
  for (const megabytes of sizes) {
    const home = newFolder(settings.folder)
    const paths = sessionPaths(home, home, SESSION)
    const log = createLongLog(paths.rootLog, SESSION, home)
    while (log.bytes < megabytes * 1e6) log.appendRun(3_000)
    const repeats = settings.quick ? 1 : 2
    const file: LongLogFigures[] = []
    const stream: LongLogFigures[] = []
    for (let i = 0; i < repeats; i += 1) {
      file.push(await inFreshProcess(settings, 'longLog', { work: 'file', home }))
      stream.push(await inFreshProcess(settings, 'longLog', { work: 'stream', home }))
    }
    figures.push({ events: log.events, bytes: log.bytes, file, stream })
    rmSync(paths.rootLog)
  }
  return { figures, tables: [streamingTable(figures)] }
}

function streamingTable(
  figures: readonly {
    readonly events: number
    readonly bytes: number
    readonly file: readonly LongLogFigures[]
    readonly stream: readonly LongLogFigures[]
  }[],
): Table {
  return {
    title: 'Reading a long log in a stream',
    notes: [
      'The best of all processes. Every line is checked against its schema; no event is kept. The ratio is of CPU time.',
    ],
    columns: [
      'log MB',
      'events',
      'file alone, MB/s',
      'events, MB/s',
      'ratio',
      'file alone, peak MB',
      'events, peak MB',
    ],
    rows: figures.map(({ events, bytes, file, stream }) => {
      const of = (runs: readonly LongLogFigures[], pick: (figures: LongLogFigures) => number): number =>
        spreadOf(runs.map(pick)).min
      const speeds = [file, stream].map((runs) => bytes / 1e3 / of(runs, ({ wallMs }) => wallMs))
      const peaks = [file, stream].map((runs) => of(runs, ({ peakMb }) => peakMb))
      return [
        number(Math.round(bytes / 1e6)),
        number(events),
        ...speeds.map((speed) => number(Math.round(speed))),
        number(of(stream, ({ cpuMs }) => cpuMs) / of(file, ({ cpuMs }) => cpuMs)),
        ...peaks.map((peak) => number(Math.round(peak))),
      ]
    }),
  }
}

/** Does one kind of work on a long log. */
export async function measureLongLog({ work, home }: LongLogInput): Promise<LongLogFigures> {
  const path = sessionPaths(home, home, SESSION).rootLog
  const storage = createFileStorage({ durability: 'write' })
  let onRequest = (): void => {}
  const asked = new Promise<void>((resolve) => {
    onRequest = resolve
  })
  // Its close must leave no snapshot: the next process is to find the same.
  const engine = engineFor(home, { onRequest, snapshotEvery: Number.POSITIVE_INFINITY })
  let run: Run | undefined
  const works: Readonly<Record<LongLogWork, () => Promise<unknown>>> = {
    file: async () => {
      for await (const chunk of storage.read(path)) if (chunk.length === 0) throw new Error('an empty chunk')
    },
    stream: async () => {
      let last = ''
      for await (const item of readLog(storage, path)) last = item.kind
      if (last !== 'event') throw new Error(`the log ends with ${last}`)
    },
    open: () => engine.resume(SESSION),
    ask: () => {
      run = engine.run(PROMPT, { sessionId: SESSION })
      // The result rejects where it never comes to a request.
      return Promise.race([asked, run.result])
    },
  }
  const cost = await costOf(works[work])
  const peakMb = process.resourceUsage().maxRSS / 1024
  // To its end, so that the next process may ask again.
  await run?.result
  await engine.close()
  return { ...cost, peakMb }
}

function engineFor(
  home: string,
  { onRequest, snapshotEvery }: { readonly onRequest?: () => void; readonly snapshotEvery?: number } = {},
) {
  return createEngine({
    model: modelFor({ unit: 'turn', count: 0 }, onRequest),
    home,
    cwd: home,
    permissions: { mode: 'bypassPermissions' },
    ...(snapshotEvery !== undefined && { snapshotEvery }),
  })
}
