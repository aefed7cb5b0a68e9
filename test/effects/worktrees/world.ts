/** Real repositories in temporary folders, and worktrees of them by the engine's own means. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { agentTreeNames } from '../../../src/definitions/worktrees/names.ts'
import type { WorktreeOptions } from '../../../src/definitions/worktrees/options.ts'
import { createGitWorktrees } from '../../../src/effects/worktrees/git-worktrees.ts'
import type { WorktreePlan, Worktrees } from '../../../src/effects/worktrees/worktrees.ts'
import { worktreeOwners } from '../../../src/engine/worktree/worktree-owners.ts'

/** Nothing of the machine's own settings; what a test wants it sets. */
const ENV = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@localhost',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@localhost',
  GIT_ALLOW_PROTOCOL: 'file',
  LC_ALL: 'C',
}

/** Git as a person would run it. Throws what it prints when it fails. */
export function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync('git', [...args], {
    cwd,
    env: ENV,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()
}

let template: string | undefined

/** A repository with one commit: `a.txt`, `folder/b.txt`, `run.sh`, and a `.gitignore` for `*.log` and `node_modules/`. */
export function repository(name = 'project'): string {
  const folder = scratch()
  const root = path.join(folder, name)
  template ??= makeTemplate()
  cpSync(template, root, { recursive: true })
  return root
}

/** A folder that is gone when the test is over. */
export function scratch(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-trees-')))
  onTestFinished(() => {
    execFileSync('chmod', ['-R', 'u+w', folder])
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

function makeTemplate(): string {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-template-')))
  process.once('exit', () => rmSync(root, { recursive: true, force: true }))
  git(root, 'init', '--quiet', '--template=', '--initial-branch=main')
  write(root, {
    'a.txt': 'one\n',
    'folder/b.txt': 'two\n',
    'run.sh': '#!/bin/sh\n',
    '.gitignore': '*.log\nnode_modules/\n',
  })
  git(root, 'add', '--all')
  git(root, 'commit', '--quiet', '-m', 'first')
  return root
}

/** Writes files, with their folders. */
export function write(root: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(root, name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}

/** Worktrees as an engine in this process has them. By default nobody looks for processes that the dead have left. */
export function worktreesWith(
  options: WorktreeOptions = {},
  endSurvivors: (agentId: string) => Promise<unknown> = async () => {},
): Worktrees {
  return createGitWorktrees({ options, owners: worktreeOwners(endSurvivors) })
}

/** Worktrees of an engine that has died: to everybody else its process is gone. */
export function worktreesOfDead(options: WorktreeOptions = {}): Worktrees {
  const owners = worktreeOwners(async () => {})
  return createGitWorktrees({
    options,
    owners: { ...owners, self: () => ({ ...owners.self(), pid: 2 ** 22 + 1 }) },
  })
}

/** An id whose first digits are no other's. */
export const agentId = (n: number): string => `a${String(n).padStart(8, '0')}cafecafe`

/** Plans and makes one. */
export async function makeTree(
  worktrees: Worktrees,
  cwd: string,
  id = agentId(1),
): Promise<WorktreePlan & { readonly lacksChanges: boolean; readonly notes: readonly string[] }> {
  const plan = await worktrees.plan({ cwd, agentId: id, names: agentTreeNames(id) })
  return { ...plan, ...(await worktrees.create(plan, { cwd })) }
}

/** What the engine has left in a repository: folders, branches, records, git's own list. */
export function remains(root: string): {
  readonly branches: readonly string[]
  readonly trees: number
  readonly records: readonly string[]
} {
  const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '')
  const common = git(root, 'rev-parse', '--path-format=absolute', '--git-common-dir')
  const records = path.join(common, 'troupe', 'worktrees')
  return {
    branches: lines(git(root, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/worktree-*')),
    trees: lines(git(root, 'worktree', 'list', '--porcelain')).filter((line) => line.startsWith('worktree '))
      .length,
    records: existsSync(records) ? lines(execFileSync('ls', [records], { encoding: 'utf8' })) : [],
  }
}

export const NOTHING_REMAINS = { branches: [], trees: 1, records: [] }
