/** Temporary files in the folder of a repository: those of the dead go with a sweep, those of the living stay. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { openRecords } from '../../../src/effects/worktrees/records.ts'
import { withScratchIndex } from '../../../src/effects/worktrees/scratch-index.ts'
import { worktreeOwners } from '../../../src/engine/worktree/worktree-owners.ts'
import {
  agentId,
  git,
  makeTree,
  NOTHING_REMAINS,
  remains,
  repository,
  worktreesOfDead,
  worktreesWith,
  write,
} from './world.ts'

const owners = worktreeOwners(async () => {})
const recordOf = (root: string, name: string): string =>
  path.join(root, '.git/troupe/worktrees', `${name}.json`)
const temporaryOf = (root: string, name: string): string => `${recordOf(root, name)}.tmp`

it('a record that its writer died in the first writing of leaves nothing', async () => {
  const root = repository()
  write(root, { '.git/troupe/worktrees/agent-00000001.json.tmp': '{"vers' })
  expect((await worktreesWith().sweep(root)).problems).toEqual([])
  expect(remains(root)).toEqual(NOTHING_REMAINS)
})

it('a record that its writer died in a later writing of leaves nothing', async () => {
  const root = repository()
  const { name } = await makeTree(worktreesOfDead(), root)
  writeFileSync(temporaryOf(root, name), '{"vers')
  expect(await worktreesWith().sweep(root)).toEqual({ removed: [name], kept: [], problems: [] })
  expect(remains(root)).toEqual(NOTHING_REMAINS)
})

it('a record takes what is left of a writing with it', async () => {
  const root = repository()
  const { name } = await makeTree(worktreesWith(), root)
  writeFileSync(temporaryOf(root, name), '{"vers')
  openRecords(path.join(root, '.git')).delete(name)
  expect(remains(root).records).toEqual([])
})

it('a record that its living owner is about to replace is left alone', async () => {
  const root = repository()
  const { name } = await makeTree(worktreesWith(), root)
  writeFileSync(temporaryOf(root, name), readFileSync(recordOf(root, name)))
  await worktreesWith().sweep(root)
  expect(remains(root).records).toEqual([`${name}.json`, `${name}.json.tmp`])
})

it('a record that is being written for the first time is waited for: it is written under the lock', async () => {
  const root = repository()
  const { name } = await makeTree(worktreesWith(), root)
  const lock = owners.lock(openRecords(path.join(root, '.git')).lockPath)
  if ('heldBy' in lock) throw new Error(lock.heldBy)
  renameSync(recordOf(root, name), temporaryOf(root, name))
  const swept = worktreesWith().sweep(root)
  // It has looked by now, and tried for the lock.
  await new Promise((resolve) => setImmediate(resolve))
  renameSync(temporaryOf(root, name), recordOf(root, name))
  lock.release()
  expect((await swept).problems).toEqual([])
  expect(remains(root).records).toEqual([`${name}.json`])
})

it('an index of a process that was killed goes, whatever is left of it; that of a living one stays', async () => {
  const root = repository()
  const home = path.join(root, '.git/troupe')
  const dead = 'index-8a6e0804-2bd0-4672-b79d-d97027f9071a'
  const ownerless = 'index-1b2c3d4e-2bd0-4672-b79d-d97027f9071a'
  mkdirSync(home)
  for (const file of [dead, `${dead}.lock`, `${ownerless}.lock`]) writeFileSync(path.join(home, file), '')
  const owner = { ...owners.self(), engine: 'worktrees', startedAt: '2026-01-01T00:00:00.000Z', id: 'dead' }
  // Its pid is in use again, by a process that was started at another time.
  writeFileSync(path.join(home, `${dead}.owner`), JSON.stringify({ ...owner, startTime: '1' }))
  const place = { repository: path.join(root, '.git'), owners }
  await withScratchIndex(place, path.join(root, '.git/index'), async (index) => {
    expect((await worktreesWith().sweep(root)).problems).toEqual([])
    const name = path.basename(index)
    expect(readdirSync(home).toSorted()).toEqual([name, `${name}.owner`])
  })
  expect(readdirSync(home)).toEqual([])
})

it('a snapshot and a patch leave no index, and change none', async () => {
  const root = repository()
  const worktrees = worktreesWith({ uncommitted: 'snapshot' })
  write(root, { 'new.txt': 'x' })
  const before = git(root, 'status', '--porcelain')
  const tree = await makeTree(worktrees, root, agentId(1))
  expect(existsSync(path.join(tree.path, 'new.txt'))).toBe(true)
  write(tree.path, { 'newer.txt': 'x' })
  expect(await worktrees.diff(root, tree.name)).toContain('newer.txt')
  expect(readdirSync(path.join(root, '.git/troupe'))).toEqual(['worktrees'])
  expect([git(root, 'status', '--porcelain'), git(tree.path, 'status', '--porcelain')]).toEqual([
    before,
    '?? newer.txt',
  ])
})
