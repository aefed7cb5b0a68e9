/** What the engine adds to `git worktree add`: its own steps around the checkout, and around the end of an agent. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentTreeNames } from '../../src/definitions/worktrees/names.ts'
import { createGitWorktrees } from '../../src/effects/worktrees/git-worktrees.ts'
import { worktreeOwners } from '../../src/engine/worktree/worktree-owners.ts'
import { newFolder } from '../folders.ts'
import type { Settings } from '../settings.ts'
import { spreadOf } from '../statistics.ts'
import type { Table } from '../table.ts'
import { number, spread } from '../table.ts'

/** Runs the scenario: figures in milliseconds, and the table that shows them. */
export async function reportWorktrees(settings: Settings) {
  const files = settings.quick ? 1_000 : 50_000
  const repeats = settings.quick ? 2 : 3
  const root = newFolder(settings.folder)
  fill(root, files)
  const worktrees = createGitWorktrees({ owners: worktreeOwners(async () => {}) })
  const bare: number[] = []
  const created: number[] = []
  const decided: number[] = []
  const removed: number[] = []
  const took = async (times: number[], work: () => unknown): Promise<void> => {
    const from = performance.now()
    await work()
    times.push(performance.now() - from)
  }
  // In turn, so that what the machine does meanwhile is in both.
  for (let i = 0; i < repeats; i += 1) {
    const agentId = `a${String(i).padStart(8, '0')}cafecafe`
    await took(bare, () =>
      git(root, 'worktree', 'add', '--quiet', '-b', `bare-${i}`, join(root, 'bare', `${i}`)),
    )
    const plan = await worktrees.plan({ cwd: root, agentId, names: agentTreeNames(agentId) })
    await took(created, async () => {
      await worktrees.plan({ cwd: root, agentId, names: agentTreeNames(agentId) })
      await worktrees.create(plan, { cwd: root })
    })
    await took(decided, () => worktrees.decide(plan))
    await took(removed, () => worktrees.remove(plan))
  }
  const added = created.map((ms, i) => ms - (bare[i] ?? 0))
  const rows: readonly (readonly [string, readonly number[]])[] = [
    ['`git worktree add` alone', bare],
    ['plan and create', created],
    ['what the engine adds', added],
    ['decide', decided],
    ['remove', removed],
  ]
  const table: Table = {
    title: `A worktree of ${number(files)} files (${repeats} times each; ms)`,
    notes: ['The smallest, the median behind it. Alone and with the engine in turn, in the same repository.'],
    columns: ['', 'ms'],
    rows: rows.map(([what, times]) => [what, spread(spreadOf(times))]),
  }
  return { figures: { files, bare, created, added, decided, removed }, tables: [table] }
}

function fill(root: string, files: number): void {
  git(root, 'init', '--quiet')
  for (let i = 0; i < files; i += 1) {
    const folder = join(root, `folder-${Math.floor(i / 500)}`)
    if (i % 500 === 0) mkdirSync(folder)
    writeFileSync(join(folder, `file-${i}.txt`), `${i}\n`)
  }
  writeFileSync(join(root, '.gitignore'), '/bare/\n')
  git(root, 'add', '--all')
  git(root, '-c', 'user.name=bench', '-c', 'user.email=bench@localhost', 'commit', '--quiet', '-m', 'files')
}

function git(cwd: string, ...args: readonly string[]): void {
  execFileSync('git', args, { cwd, stdio: 'ignore' })
}
