/**
 * A process to kill: plays a scenario with the real engine on real files, as one life of its session, and kills itself
 * in the append that its orders name. Time runs a thousand times as fast for its engine, not for what it starts.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Clock } from '../../src/effects/clock.ts'
import { systemClock } from '../../src/effects/clock.ts'
import { systemIds } from '../../src/effects/ids.ts'
import { createLocalProcessRunner } from '../../src/effects/process/local-process-runner.ts'
import { createFileStorage } from '../../src/journal/file-storage.ts'
import { sessionPaths } from '../../src/journal/paths.ts'
import type { Storage } from '../../src/journal/storage.ts'
import { die } from '../crash/support/kill-point.ts'
import type { Orders } from './disk-life.ts'
import { createFileRecord } from './file-record.ts'
import type { Kill } from './kill.ts'
import { keptOf, linesOf } from './kill.ts'
import type { Scenario } from './scenario.ts'
import { engineFor, SESSION, useSession } from './user.ts'

const FASTER = 1_000

const fastClock: Clock = {
  now: systemClock.now,
  setTimer: (ms, callback) => systemClock.setTimer(ms / FASTER, callback),
}

/** Counts the appends to logs, and dies in one of them. */
function dyingStorage(storage: Storage, kill: Kill | undefined, appends: number[]): Storage {
  return {
    ...storage,
    append: (batch) => {
      const [first] = batch
      if (first === undefined || !first.path.endsWith('.jsonl')) return storage.append(batch)
      appends.push(linesOf(first.text))
      if (appends.length !== kill?.at) return storage.append(batch)
      if (kill.when === 'after') void storage.append(batch)
      else writePart(first.path, keptOf(first.text, kill.when))
      die()
    },
  }
}

/** As the storage would have: behind a torn line comes a line feed first. */
function writePart(file: string, text: string): void {
  if (text === '') return
  mkdirSync(path.dirname(file), { recursive: true })
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  appendFileSync(file, before === '' || before.endsWith('\n') ? text : `\n${text}`)
}

async function live(orders: Orders): Promise<readonly number[]> {
  const module = path.join(import.meta.dirname, 'scenarios', `${orders.scenario}.mjs`)
  const { scenario }: { readonly scenario: Scenario } = await import(pathToFileURL(module).href)
  const { home, project } = orders
  const appends: number[] = []
  const storage = dyingStorage(createFileStorage({ durability: 'write' }), orders.kill, appends)
  const record = createFileRecord(orders.record)
  const life = { number: orders.life }
  const engine = engineFor(scenario, life, record, {
    storage,
    clock: fastClock,
    ids: systemIds,
    processes: createLocalProcessRunner({ clock: systemClock, graceMs: 100 }),
    home,
    cwd: project,
  })
  await useSession(scenario, engine, { life, record, storage, paths: sessionPaths(home, project, SESSION) })
  return appends
}

process.stdout.write(`${JSON.stringify(await live(JSON.parse(process.argv[2] ?? '{}')))}\n`)
