/** How fast a log comes back: reading with every line checked, folding, and the first request behind it. */

import { createEngine } from '../../src/engine/create-engine.ts'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import { sessionPaths } from '../../src/journal/paths.ts'
import { createConversation } from '../../src/journal/projections/conversation.ts'
import { createRequestMessages } from '../../src/journal/projections/request-messages.ts'
import { loadLog } from '../../src/journal/read-log.ts'
import { foldAgent, UNBORN } from '../../src/machines/agent/fold.ts'
import { nanosecondsOf } from '../clocks.ts'
import { newFolder } from '../folders.ts'
import { inFreshProcess } from '../fresh-process.ts'
import type { Settings } from '../settings.ts'
import { mapSpread, spreadOf } from '../statistics.ts'
import type { Table } from '../table.ts'
import { number, spread } from '../table.ts'
import { modelFor, PROMPT } from '../work.ts'

export interface ReplayInput {
  /** Calls in the parent's log; each is three events. */
  readonly calls: number
  readonly repeats: number
  readonly folder: string
}

export interface ReplayFigures {
  readonly events: number
  readonly bytes: number
  /** Events per second, once for each repeat. */
  readonly read: readonly number[]
  readonly folded: readonly number[]
  readonly projected: readonly number[]
}

/** Runs the scenario: figures, and the table that shows them. */
export async function reportReplay(settings: Settings) {
  const figures: ReplayFigures[] = []
  for (const calls of settings.quick ? [100] : [300, 3_000]) {
    const repeats = settings.quick ? 3 : 15
    figures.push(await inFreshProcess(settings, 'replay', { calls, repeats, folder: settings.folder }))
  }
  return { figures, tables: [replayTable(figures)] }
}

function replayTable(figures: readonly ReplayFigures[]): Table {
  return {
    title: 'Replay, thousands of events per second',
    notes: [
      'The best of all repeats (median in brackets). Reading includes checking every line against its schema.',
    ],
    columns: ['events in the log', 'log KB', 'read', 'fold', 'conversation and request'],
    rows: figures.map(({ events, bytes, read, folded, projected }) => [
      number(events),
      number(bytes / 1_000),
      ...[read, folded, projected].map(thousandsPerSecond),
    ]),
  }
}

/** Fastest first: a spread of the times, turned round. */
function thousandsPerSecond(perSecond: readonly number[]): string {
  return spread(mapSpread(spreadOf(perSecond.map((rate) => 1_000 / rate)), (time) => 1 / time))
}

/** Has an engine write a parent's log and replays it. */
export async function measureReplay({ calls, repeats, folder }: ReplayInput): Promise<ReplayFigures> {
  const home = newFolder(folder)
  const engine = createEngine({
    model: modelFor({ unit: 'call', count: calls }),
    home,
    cwd: home,
    permissions: { mode: 'bypassPermissions' },
    limits: { spawns: calls },
  })
  const { sessionId } = await engine.run(PROMPT).result
  await engine.close()
  const storage = createFileStorage({ durability: 'write' })
  const path = sessionPaths(home, home, sessionId).rootLog
  const bytes = (await storage.stat(path))?.bytes ?? Number.NaN

  const read: number[] = []
  const folded: number[] = []
  const projected: number[] = []
  let events = 0
  for (let i = 0; i < repeats; i += 1) {
    const start = performance.now()
    const log = await loadLog(storage, path)
    const ms = performance.now() - start
    events = log.events.length
    read.push((events / ms) * 1_000)
    folded.push(
      perSecond(events, () => log.events.reduce((state, { event }) => foldAgent(state, event), UNBORN)),
    )
    projected.push(
      perSecond(events, () => {
        const conversation = createConversation()
        for (const recorded of log.events) conversation.push(recorded)
        createRequestMessages(conversation).messages()
      }),
    )
  }
  return { events, bytes, read, folded, projected }
}

function perSecond(events: number, work: () => unknown): number {
  return (events / nanosecondsOf(work)) * 1e9
}
