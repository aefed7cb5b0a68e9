/**
 * A thousand children at once with a model that takes half a second.
 *
 * The engine runs at most ten calls of one turn side by side, so a thousand children do not fit under one parent. The
 * tree is three levels deep instead, ten children each: 1,000 leaves, and 110 agents and a root above them that are
 * alive all the while. That is more work than the thousand that the table of peers speaks of, not less. How many
 * leaves were really waiting for the model at one moment is counted by the model.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Model } from '../../src/effects/model/model.ts'
import { createScriptedModel } from '../../src/effects/model/scripted.ts'
import type { Engine, EngineOptions } from '../../src/engine/api.ts'
import type { Cost } from '../clocks.ts'
import { costOf } from '../clocks.ts'
import { openMessageLog, runLoop } from '../floor.ts'
import { newFolder } from '../folders.ts'
import { inFreshProcess } from '../fresh-process.ts'
import type { Settings } from '../settings.ts'
import type { Spread } from '../statistics.ts'
import { spreadOf } from '../statistics.ts'
import type { Table } from '../table.ts'
import { number, spread } from '../table.ts'
import { treeScript, treeSize } from '../tree.ts'
import { RESULT } from '../work.ts'

export interface ChildrenInput {
  readonly worker: 'floor' | 'engine'
  /** Children of each agent, level by level; the product is the number of leaves. */
  readonly fanOut: readonly number[]
  readonly modelMs: number
  readonly folder: string
}

export interface ChildrenFigures extends Cost {
  readonly peakRssMb: number
  /** Before the first agent: Node and the loaded code. */
  readonly startRssMb: number
  /** Requests that were waiting for the model at one moment, at most. */
  readonly atOnce: number
}

export interface ChildrenRow {
  readonly worker: ChildrenInput['worker']
  readonly agents: number
  readonly atOnce: number
  readonly peakRssMb: Spread
  readonly startRssMb: Spread
  readonly cpuMs: Spread
  readonly wallMs: Spread
}

/** Runs the scenario: figures, and the table that shows them. */
export async function reportChildren(settings: Settings) {
  const fanOut = settings.quick ? [10, 10] : [10, 10, 10]
  const figures: ChildrenRow[] = []
  for (const worker of ['floor', 'engine'] as const) {
    const runs: ChildrenFigures[] = []
    for (let i = 0; i < (settings.quick ? 1 : 5); i += 1) {
      const modelMs = settings.quick ? 50 : 500
      runs.push(
        await inFreshProcess(settings, 'children', { worker, fanOut, modelMs, folder: settings.folder }),
      )
    }
    const { agents, leaves } = treeSize(fanOut)
    figures.push({
      worker,
      agents: worker === 'engine' ? agents : leaves,
      atOnce: Math.min(...runs.map(({ atOnce }) => atOnce)),
      peakRssMb: spreadOf(runs.map(({ peakRssMb }) => peakRssMb)),
      startRssMb: spreadOf(runs.map(({ startRssMb }) => startRssMb)),
      cpuMs: spreadOf(runs.map(({ cpuMs }) => cpuMs)),
      wallMs: spreadOf(runs.map(({ wallMs }) => wallMs)),
    })
  }
  return { figures, tables: [childrenTable(figures)] }
}

function childrenTable(rows: readonly ChildrenRow[]): Table {
  return {
    title: 'Many children at once, each waiting for a slow model',
    notes: [
      'A tree, ten children under each agent, as at most ten calls of one turn run side by side; the floor is as many loops as the tree has leaves. Every request takes as long as the leaves’, so the tree needs several rounds.',
    ],
    columns: ['', 'agents', 'waiting at once', 'peak RSS, MB', 'of it at the start', 'CPU ms', 'wall ms'],
    rows: rows.map((row) => [
      row.worker === 'engine' ? 'Troupe, write' : 'floor, JSONL',
      number(row.agents),
      number(row.atOnce),
      spread(row.peakRssMb),
      spread(row.startRssMb),
      spread(row.cpuMs),
      spread(row.wallMs),
    ]),
  }
}

/** Runs them all and says how much memory the process had at most. */
export async function measureChildren(input: ChildrenInput): Promise<ChildrenFigures> {
  const run = input.worker === 'engine' ? await loadTree() : runLoops
  const startRssMb = process.memoryUsage.rss() / 2 ** 20
  const { model, atOnce } = slowModel(input)
  const home = newFolder(input.folder)
  const cost = await costOf(() => run(input, model, home))
  // Kilobytes on every system that Node runs on.
  const peakRssMb = process.resourceUsage().maxRSS / 1024
  const { leaves } = treeSize(input.fanOut)
  if (atOnce() !== leaves) throw new Error(`${atOnce()} children were waiting at once, not ${leaves}`)
  return { ...cost, peakRssMb, startRssMb, atOnce: atOnce() }
}

type RunAll = (input: ChildrenInput, model: Model, home: string) => Promise<void>

/** The floor must not have the engine's code in its memory. */
async function loadTree(): Promise<RunAll> {
  const { createEngine } = await import('../../src/engine/create-engine.ts')
  return (input, model, home) => runTree(createEngine, input, model, home)
}

async function runTree(
  createEngine: (options: EngineOptions) => Engine,
  { fanOut }: ChildrenInput,
  model: Model,
  home: string,
): Promise<void> {
  const { agents } = treeSize(fanOut)
  const engine = createEngine({
    model,
    home,
    cwd: home,
    permissions: { mode: 'bypassPermissions' },
    limits: { depth: fanOut.length, liveAgents: agents, spawns: agents },
  })
  const { outcome, text } = await engine.run(treeScript.prompt(fanOut)).result
  await engine.close()
  if (outcome.kind !== 'completed' || text !== RESULT)
    throw new Error(`the tree ended ${JSON.stringify(outcome)}`)
}

/** The floor has no parents: as many loops as there are leaves, each with a log of its own. */
async function runLoops({ fanOut }: ChildrenInput, model: Model, home: string): Promise<void> {
  await Promise.all(
    Array.from({ length: treeSize(fanOut).leaves }, async (_, i) => {
      const log = openMessageLog(join(home, `${i}.jsonl`), 'write')
      await runLoop(model, log.append)
      log.close()
    }),
  )
}

function slowModel({ modelMs }: ChildrenInput): { readonly model: Model; readonly atOnce: () => number } {
  let waiting = 0
  let most = 0
  const model = createScriptedModel(async (request) => {
    waiting += 1
    most = Math.max(most, waiting)
    await pause(modelMs)
    waiting -= 1
    return treeScript.reply(request)
  })
  return { model, atOnce: () => most }
}
