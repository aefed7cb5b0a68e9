/** Many at once, from several processes, and processes that die. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/effects/clock.ts'
import { endSurvivors } from '../../../src/effects/process/end-survivors.ts'
import { type CompiledWorker, compileWorker } from '../../crash/support/compile-worker.ts'
import { NOTHING_REMAINS, remains, repository, worktreesWith } from './world.ts'

const run = promisify(execFile)

let worker: CompiledWorker
beforeAll(async () => {
  worker = await compileWorker(path.join(import.meta.dirname, 'worker.ts'))
})
afterAll(() => worker.dispose())

const start = (root: string, first: number, count: number) =>
  run(process.execPath, [worker.path, root, String(first), String(count)])

it('40 agents in 4 processes make worktrees at once: 40 succeed, no orphan branch, no stale lock', {
  timeout: 240_000,
}, async () => {
  const root = repository()
  const made = await Promise.all([0, 10, 20, 30].map((first) => start(root, first, 10)))
  const paths = made.flatMap(({ stdout }) => JSON.parse(stdout) as string[])
  expect(new Set(paths).size).toBe(40)
  expect(paths.every((tree) => existsSync(path.join(tree, 'folder/b.txt')))).toBe(true)
  const { branches, trees, records } = remains(root)
  expect([branches.length, trees, records.length]).toEqual([40, 41, 40])
  expect(readdirSync(path.join(root, '.git/troupe'))).toEqual(['worktrees'])
  // Their processes have ended, and nothing was changed.
  expect((await worktreesWith().sweep(root)).removed).toHaveLength(40)
  expect(remains(root)).toEqual(NOTHING_REMAINS)
})

it('processes that are killed while they make them: the sweep leaves nothing', {
  timeout: 240_000,
}, async () => {
  const root = repository()
  for (const ms of [500, 900]) {
    const running = start(root, ms, 6)
    setTimeout(() => running.child.kill('SIGKILL'), ms)
    await running.catch(() => {})
  }
  // What git was doing then goes on; the sweep ends it, as that of an engine does.
  const patience = { clock: systemClock, graceMs: 10_000 }
  const worktrees = worktreesWith({}, (id) => endSurvivors([], [id], patience))
  expect((await worktrees.sweep(root)).problems).toEqual([])
  expect(remains(root)).toEqual(NOTHING_REMAINS)
})
