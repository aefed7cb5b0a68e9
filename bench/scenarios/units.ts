/**
 * What one call of a sub-agent costs, and what one turn costs: in the engine, in the bare loop, in the floor.
 *
 * A run is everything from `createEngine` to `close`, so that at 10 units the fixed costs show. Each process makes its
 * first run cold, with code that nothing has compiled yet, and the others warm.
 */
import { join } from 'node:path'
import type { Model } from '../../src/effects/model/model.ts'
import { standardTools } from '../../src/effects/tools/tool-table.ts'
import { createEngine } from '../../src/engine/create-engine.ts'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import type { Append, Durability, Storage } from '../../src/journal/storage.ts'
import type { Cost } from '../clocks.ts'
import { costOf } from '../clocks.ts'
import { openMessageLog, runLoop } from '../floor.ts'
import { bytesIn, newFolder } from '../folders.ts'
import type { Work } from '../work.ts'
import { modelFor, noteTool, PROMPT } from '../work.ts'

/** Who does the work. `bare` saves nothing. */
export type Worker =
  | { readonly kind: 'bare' }
  | { readonly kind: 'floor' | 'engine'; readonly durability: Durability }

export interface UnitsInput {
  readonly worker: Worker
  readonly work: Work
  readonly folder: string
  /** Runs after the first. */
  readonly warmRuns: number
}

export interface RunFigures extends Cost {
  /** Everything that is on disk at the end. */
  readonly bytes: number
}

export interface UnitsFigures {
  readonly cold: RunFigures
  readonly warm: readonly RunFigures[]
}

/** Does the work several times. */
export async function measureUnits(input: UnitsInput): Promise<UnitsFigures> {
  const cold = await oneRun(input)
  const warm: RunFigures[] = []
  for (let i = 0; i < input.warmRuns; i += 1) warm.push(await oneRun(input))
  return { cold, warm }
}

async function oneRun({ worker, work, folder }: UnitsInput): Promise<RunFigures> {
  const home = newFolder(folder)
  const cost = await costOf(() => doWork(worker, work, home))
  return { ...cost, bytes: bytesIn(home) }
}

async function doWork(worker: Worker, work: Work, home: string): Promise<void> {
  switch (worker.kind) {
    case 'bare':
      await runLoop(modelFor(work))
      return
    case 'floor': {
      const log = openMessageLog(join(home, 'log.jsonl'), worker.durability)
      await runLoop(modelFor(work), log.append)
      log.close()
      return
    }
    case 'engine':
      await runEngine(modelFor(work), createFileStorage({ durability: worker.durability }), work, home)
  }
}

async function runEngine(model: Model, storage: Storage, work: Work, home: string): Promise<void> {
  const engine = createEngine({
    model,
    storage,
    home,
    cwd: home,
    tools: [...standardTools(), noteTool],
    permissions: { mode: 'bypassPermissions' },
    limits: { spawns: work.count },
  })
  const { outcome, toolUses } = await engine.run(PROMPT).result
  await engine.close()
  if (outcome.kind !== 'completed' || toolUses !== work.count) {
    throw new Error(
      `the run did not do its work: ${JSON.stringify({ outcome, toolUses, wanted: work.count })}`,
    )
  }
}

export interface BytesInput {
  readonly work: Work
  /** Which units to look at, counted from 1. */
  readonly steps: readonly number[]
  readonly folder: string
}

/** Bytes that the engine writes during single units: logs, derived files and blobs. */
export async function measureBytes({ work, steps, folder }: BytesInput): Promise<number[]> {
  const { storage, written } = counting(createFileStorage({ durability: 'write' }))
  /** Bytes before the turn that begins with this many units done. */
  const before: number[] = []
  const model = modelFor(work, (done) => {
    before[done] = written()
  })
  await runEngine(model, storage, work, newFolder(folder))
  return steps.map((step) => (before[step] ?? Number.NaN) - (before[step - 1] ?? Number.NaN))
}

/** A storage that knows how much it was given. */
function counting(storage: Storage): { readonly storage: Storage; readonly written: () => number } {
  let bytes = 0
  return {
    written: () => bytes,
    storage: {
      ...storage,
      append: (batch: readonly Append[]) => {
        for (const { text } of batch) bytes += Buffer.byteLength(text)
        return storage.append(batch)
      },
      writeWhole: (path, text) => {
        bytes += Buffer.byteLength(text)
        return storage.writeWhole(path, text)
      },
      writeDerived: (path, text) => {
        bytes += Buffer.byteLength(text)
        return storage.writeDerived(path, text)
      },
    },
  }
}
