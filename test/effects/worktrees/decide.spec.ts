/** What keeps a worktree, what does not, and how it is taken down. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { branchOfTree, treeNameProblem } from '../../../src/definitions/worktrees/names.ts'
import type { WorktreePlan, Worktrees } from '../../../src/effects/worktrees/worktrees.ts'
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

/** What a child does in its tree, and whether removing the tree would lose it. */
interface Action {
  readonly name: string
  readonly loses: boolean
  /** The file that it is about: a second action on that could not be done, or could put back what the first has lost. */
  readonly on?: string
  readonly act: (tree: WorktreePlan, root: string) => void
}

const detachedCommit = (tree: string): void => {
  git(tree, 'checkout', '--quiet', '--detach')
  git(tree, 'commit', '--quiet', '--allow-empty', '-m', 'lost')
}

const ACTIONS: readonly Action[] = [
  { name: 'nothing', loses: false, act: () => {} },
  { name: 'create', loses: true, act: ({ path: tree }) => write(tree, { 'new/file.txt': 'x' }) },
  { name: 'modify', loses: true, on: 'a.txt', act: ({ path: tree }) => write(tree, { 'a.txt': 'two\n' }) },
  {
    name: 'modify to the same size and time',
    loses: true,
    on: 'a.txt',
    act: ({ path: tree }) => {
      write(tree, { 'a.txt': 'eno\n' })
      utimesSync(path.join(tree, 'a.txt'), 1, 1)
    },
  },
  {
    name: 'modify and put back',
    loses: false,
    on: 'a.txt',
    act: ({ path: tree }) => {
      write(tree, { 'a.txt': 'two\n' })
      write(tree, { 'a.txt': 'one\n' })
    },
  },
  { name: 'delete', loses: true, on: 'a.txt', act: ({ path: tree }) => rmSync(path.join(tree, 'a.txt')) },
  {
    name: 'rename',
    loses: true,
    on: 'a.txt',
    act: ({ path: tree }) => renameSync(path.join(tree, 'a.txt'), path.join(tree, 'c.txt')),
  },
  {
    name: 'change a mode',
    loses: true,
    act: ({ path: tree }) => chmodSync(path.join(tree, 'run.sh'), 0o755),
  },
  {
    name: 'ignored file',
    loses: false,
    act: ({ path: tree }) => write(tree, { 'noise.log': 'x', 'node_modules/y.js': 'y' }),
  },
  { name: 'empty folder', loses: false, act: ({ path: tree }) => mkdirSync(path.join(tree, 'empty')) },
  {
    name: 'stage',
    loses: true,
    act: ({ path: tree }) => {
      write(tree, { 's.txt': 'x' })
      git(tree, 'add', 's.txt')
    },
  },
  {
    name: 'commit',
    loses: true,
    act: ({ path: tree }) => git(tree, 'commit', '--quiet', '--allow-empty', '-m', 'work'),
  },
  { name: 'commit on a detached HEAD', loses: true, act: ({ path: tree }) => detachedCommit(tree) },
  {
    name: 'commit on a detached HEAD and leave it',
    loses: true,
    act: ({ path: tree, branch }) => {
      detachedCommit(tree)
      git(tree, 'checkout', '--quiet', branch)
    },
  },
  {
    name: 'commit and reset, without a log of HEAD in the settings',
    loses: true,
    act: ({ path: tree, base }) => {
      git(tree, '-c', 'core.logAllRefUpdates=false', 'commit', '--quiet', '--allow-empty', '-m', 'lost')
      git(tree, '-c', 'core.logAllRefUpdates=false', 'reset', '--quiet', '--hard', base)
    },
  },
  {
    name: 'commit, keep it on another branch, and reset',
    loses: false,
    act: ({ path: tree, base }) => {
      git(tree, 'commit', '--quiet', '--allow-empty', '-m', 'kept')
      git(tree, 'branch', 'kept-elsewhere')
      git(tree, 'reset', '--quiet', '--hard', base)
    },
  },
  {
    name: 'orphan branch',
    loses: true,
    act: ({ path: tree }) => git(tree, 'checkout', '--quiet', '--orphan', 'fresh'),
  },
  {
    name: 'reference of its own',
    loses: true,
    act: ({ path: tree }) => git(tree, 'update-ref', 'refs/worktree/mine', 'HEAD'),
  },
  {
    name: 'hide a change from git',
    loses: true,
    on: 'a.txt',
    act: ({ path: tree }) => {
      git(tree, 'update-index', '--assume-unchanged', 'a.txt')
      write(tree, { 'a.txt': 'hidden\n' })
    },
  },
  {
    name: 'nested repository',
    loses: true,
    act: ({ path: tree }) => {
      mkdirSync(path.join(tree, 'nested'))
      git(path.join(tree, 'nested'), 'init', '--quiet')
      git(path.join(tree, 'nested'), 'commit', '--quiet', '--allow-empty', '-m', 'x')
    },
  },
  {
    name: 'add a submodule',
    loses: true,
    act: ({ path: tree }, root) =>
      git(tree, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', root, 'sub'),
  },
  { name: 'lock', loses: true, act: ({ path: tree }, root) => git(root, 'worktree', 'lock', tree) },
  {
    name: 'replace .git',
    loses: true,
    act: ({ path: tree }) => {
      rmSync(path.join(tree, '.git'))
      git(tree, 'init', '--quiet')
    },
  },
  { name: 'link', loses: true, act: ({ path: tree }, root) => symlinkSync(root, path.join(tree, 'link')) },
]

const SETTINGS: readonly (readonly [string, string])[] = [
  ['status.showUntrackedFiles', 'no'],
  ['diff.ignoreSubmodules', 'all'],
  ['core.fileMode', 'false'],
  ['core.logAllRefUpdates', 'false'],
  ['status.relativePaths', 'true'],
  ['core.untrackedCache', 'true'],
  ['core.trustctime', 'true'],
  ['status.short', 'true'],
]

async function settle(worktrees: Worktrees, tree: WorktreePlan): Promise<'keep' | 'remove'> {
  const { kind } = await worktrees.decide(tree)
  if (kind === 'remove') await worktrees.remove(tree)
  return kind
}

describe('the decision', () => {
  it('keeps a tree exactly if an action in it would be lost, whatever git is set to', async () => {
    const root = repository()
    for (const [key, value] of SETTINGS) git(root, 'config', key, value)
    const worktrees = worktreesWith()
    for (const [i, { name, loses, act }] of ACTIONS.entries()) {
      const tree = await makeTree(worktrees, root, agentId(i))
      act(tree, root)
      expect([name, await settle(worktrees, tree)]).toEqual([name, loses ? 'keep' : 'remove'])
      expect(existsSync(tree.path)).toBe(loses)
    }
  })

  it('for any actions, ends and settings: gone exactly if nothing would be lost, else kept and named; nothing else is touched', async () => {
    const root = repository()
    write(root, { 'mine.txt': 'uncommitted', '.claude/worktrees/not-ours/file.txt': 'x' })
    git(root, 'worktree', 'add', '--quiet', path.join(path.dirname(root), 'theirs'))
    const state = (): readonly string[] => [
      git(root, 'status', '--porcelain', '--untracked-files=all', '--', ':!.claude'),
      git(root, 'stash', 'list'),
      git(root, 'rev-parse', 'HEAD', 'theirs'),
      readFileSync(path.join(root, '.claude/worktrees/not-ours/file.txt'), 'utf8'),
      readdirSync(path.join(path.dirname(root), 'theirs')).join(),
    ]
    const before = state()
    const config = path.join(root, '.git/config')
    const plainConfig = readFileSync(config, 'utf8')
    let n = 100
    const plain = ACTIONS.filter(
      ({ name }) =>
        !['replace .git', 'orphan branch', 'commit, keep it on another branch, and reset'].includes(name),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.constantFrom(...plain), { maxLength: 3, selector: ({ name, on }) => on ?? name }),
        fc.uniqueArray(fc.constantFrom(...SETTINGS), { maxLength: 2, selector: ([key]) => key }),
        fc.constantFrom('ended', 'killed'),
        async (actions, settings, end) => {
          n += 1
          writeFileSync(config, plainConfig)
          for (const [key, value] of settings) git(root, 'config', key, value)
          // Of a dead engine it is the next one's sweep that decides.
          const worktrees = end === 'ended' ? worktreesWith() : worktreesOfDead()
          const tree = await makeTree(worktrees, root, agentId(n))
          for (const { act } of actions) act(tree, root)
          const loses = actions.some((action) => action.loses)
          if (end === 'ended') expect(await settle(worktrees, tree)).toBe(loses ? 'keep' : 'remove')
          else {
            const swept = await worktreesWith().sweep(root)
            expect(swept.problems).toEqual([])
            expect(swept.removed).toEqual(loses ? [] : [tree.name])
            if (loses) expect(swept.kept.map(({ name }) => name)).toContain(tree.name)
          }
          expect(existsSync(tree.path)).toBe(loses)
          expect(state()).toEqual(before)
          if (loses) await worktreesWith().remove(tree)
        },
      ),
      { numRuns: 6 },
    )
  })

  it.each(['sub', 'with\ta tab'])(
    'commits in a submodule of the tree at %j count, also when it has been put back',
    async (at) => {
      const inner = repository('inner')
      const root = repository()
      git(root, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, at)
      git(root, 'commit', '--quiet', '-m', 'sub')
      const worktrees = worktreesWith()
      const tree = await makeTree(worktrees, root)
      git(tree.path, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'update', '--init')
      expect((await worktrees.decide(tree)).kind).toBe('remove')
      const sub = path.join(tree.path, at)
      const head = git(sub, 'rev-parse', 'HEAD')
      git(sub, 'commit', '--quiet', '--allow-empty', '-m', 'work')
      git(sub, 'checkout', '--quiet', head)
      expect(await worktrees.decide(tree)).toMatchObject({
        kind: 'keep',
        reasons: [expect.stringContaining(`submodule ${at}`)],
      })
      git(sub, 'reflog', 'expire', '--expire=all', '--all')
      expect(await settle(worktrees, tree)).toBe('remove')
      expect(remains(root)).toEqual(NOTHING_REMAINS)
    },
  )

  it('ignored files count where it is so set', async () => {
    const root = repository()
    const worktrees = worktreesWith({ keepIgnored: true })
    const tree = await makeTree(worktrees, root)
    expect((await worktrees.decide(tree)).kind).toBe('remove')
    write(tree.path, { 'noise.log': 'x' })
    expect(await worktrees.decide(tree)).toMatchObject({
      kind: 'keep',
      reasons: [expect.stringContaining('noise.log')],
    })
  })
})

describe('removing', () => {
  it('leaves no folder, no branch, no record and no setting', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    git(root, 'config', `branch.${tree.branch}.remote`, 'origin')
    await worktrees.remove(tree)
    expect(remains(root)).toEqual(NOTHING_REMAINS)
    expect(git(root, 'config', '--list')).not.toContain('worktree-agent')
    expect(readdirSync(path.join(root, '.claude/worktrees'))).toEqual([])
    await worktrees.remove(tree)
  })

  it('takes folders that forbid writing with it', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    write(tree.path, { 'node_modules/cache/x.js': 'x' })
    chmodSync(path.join(tree.path, 'node_modules/cache'), 0o500)
    await worktrees.remove(tree)
    expect(existsSync(tree.path)).toBe(false)
  })

  it('leaves a branch alone that somebody else has checked out, or that has moved', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    git(tree.path, 'checkout', '--quiet', '--detach')
    const other = path.join(path.dirname(root), 'other')
    git(root, 'worktree', 'add', '--quiet', other, tree.branch)
    await worktrees.remove(tree)
    expect(remains(root)).toEqual({ branches: [tree.branch], trees: 2, records: [] })
    expect(git(other, 'rev-parse', 'HEAD')).toBe(tree.base)
  })

  it.each([
    'with the record that says so',
    'when its links are gone',
    'when the folder has left its place',
    'in the middle of deleting it',
    'when the folder is gone',
    'when git has forgotten it',
    'when the branch is gone',
  ])('an interruption %s: the next clean-up completes it', async (moment) => {
    const root = repository()
    write(root, { 'node_modules/x.js': '1' })
    const dead = worktreesOfDead({ symlinkDirectories: ['node_modules'] })
    const tree = await makeTree(dead, root)
    const file = path.join(tree.repository, 'troupe/worktrees', `${tree.name}.json`)
    const record = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...record, state: 'removing', tip: tree.base }))
    const leaving = path.join(path.dirname(tree.path), `.removing-${tree.name}`)
    const steps: readonly (readonly [string, () => void])[] = [
      ['with the record that says so', () => {}],
      ['when its links are gone', () => rmSync(path.join(tree.path, 'node_modules'))],
      ['when the folder has left its place', () => renameSync(tree.path, leaving)],
      ['in the middle of deleting it', () => rmSync(path.join(leaving, '.git'))],
      ['when the folder is gone', () => rmSync(leaving, { recursive: true })],
      ['when git has forgotten it', () => git(root, 'worktree', 'prune')],
      ['when the branch is gone', () => git(root, 'branch', '--quiet', '-D', branchOfTree(tree.name))],
    ]
    for (const [name, step] of steps) {
      step()
      if (name === moment) break
    }
    expect(await worktreesWith().sweep(root)).toEqual({ removed: [tree.name], kept: [], problems: [] })
    expect(remains(root)).toEqual(NOTHING_REMAINS)
    expect(readdirSync(path.join(root, '.claude/worktrees'))).toEqual([])
    expect(existsSync(path.join(root, 'node_modules/x.js'))).toBe(true)
  })
})

describe('the sweep', () => {
  it('starts nothing and touches nothing where nothing is ours, and leaves the living alone', async () => {
    const root = repository()
    expect(await worktreesWith().sweep(root)).toEqual({ removed: [], kept: [], problems: [] })
    expect(existsSync(path.join(root, '.git/troupe'))).toBe(false)
    const tree = await makeTree(worktreesWith(), root)
    expect((await worktreesWith().sweep(root)).removed).toEqual([])
    expect(existsSync(tree.path)).toBe(true)
  })

  it.each(['only the record', 'the branch', 'a folder that git has begun', 'a tree that was not handed out'])(
    'a making that died with %s is taken down',
    async (moment) => {
      const root = repository()
      const dead = worktreesOfDead()
      const tree = await makeTree(dead, root)
      const file = path.join(tree.repository, 'troupe/worktrees', `${tree.name}.json`)
      const { gitDir, ...record } = JSON.parse(readFileSync(file, 'utf8'))
      writeFileSync(file, JSON.stringify({ ...record, state: 'creating' }))
      if (moment !== 'a tree that was not handed out') {
        rmSync(tree.path, { recursive: true })
        rmSync(gitDir, { recursive: true })
      }
      if (moment === 'only the record') git(root, 'branch', '--quiet', '-D', tree.branch)
      if (moment === 'a folder that git has begun') {
        mkdirSync(gitDir, { recursive: true })
        writeFileSync(path.join(gitDir, 'locked'), 'initializing')
        mkdirSync(tree.path)
      }
      expect((await worktreesWith().sweep(root)).removed).toEqual([tree.name])
      expect(remains(root)).toEqual(NOTHING_REMAINS)
      expect(existsSync(path.join(root, '.git/worktrees/agent-00000001'))).toBe(false)
    },
  )

  it('keeps what is to be kept, and with "merged" removes what another branch has', async () => {
    const root = repository()
    const dead = worktreesOfDead()
    const [kept, merged] = [await makeTree(dead, root, agentId(1)), await makeTree(dead, root, agentId(2))]
    await dead.keep(kept)
    git(merged.path, 'commit', '--quiet', '--allow-empty', '-m', 'work')
    await worktreesWith().merge(root, merged.name)
    expect((await worktreesWith().sweep(root)).kept.map(({ name }) => name)).toEqual([kept.name, merged.name])
    expect((await worktreesWith().sweep(root, { merged: true })).removed).toEqual([merged.name])
  })

  it('a record that cannot be read is told and left alone', async () => {
    const root = repository()
    write(root, { '.git/troupe/worktrees/odd.json': '{"version":99}' })
    expect((await worktreesWith().sweep(root)).problems).toEqual([expect.stringContaining('odd.json')])
    expect(existsSync(path.join(root, '.git/troupe/worktrees/odd.json'))).toBe(true)
  })
})

describe('what a person does with it', () => {
  it('lists, shows as a patch with new files, and merges', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    write(tree.path, { 'a.txt': 'changed\n' })
    git(tree.path, 'commit', '--quiet', '-am', 'work')
    write(tree.path, { 'new.txt': 'new\n' })
    const patch = await worktrees.diff(root, tree.name)
    expect(patch).toContain('+changed')
    expect(patch).toContain('b/new.txt')
    expect(git(tree.path, 'status', '--porcelain')).toBe('?? new.txt')
    expect(await worktrees.list(root)).toMatchObject([
      { name: tree.name, owner: 'alive', decision: { kind: 'keep' } },
    ])
    await expect(worktrees.merge(root, tree.name)).rejects.toMatchObject({ code: 'worktree-not-merged' })
    rmSync(path.join(tree.path, 'new.txt'))
    await worktrees.merge(root, tree.name)
    expect(readFileSync(path.join(root, 'a.txt'), 'utf8')).toBe('changed\n')
  })

  it('a conflict changes nothing and is told', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    for (const [folder, text] of [
      [tree.path, 'theirs\n'],
      [root, 'ours\n'],
    ] as const) {
      write(folder, { 'a.txt': text })
      git(folder, 'commit', '--quiet', '-am', text)
    }
    await expect(worktrees.merge(root, tree.name)).rejects.toThrow(/conflicts .*a\.txt/u)
    expect(git(root, 'status', '--porcelain')).toBe('')
    await expect(worktrees.diff(root, 'nobody')).rejects.toThrow(tree.name)
  })
})

describe('names', () => {
  it.each(['fix', 'feature/a.b_c-1', 'x'.repeat(64)])('%s is one', (name) => {
    expect(treeNameProblem(name)).toBeUndefined()
  })
  it.each([
    '',
    'x'.repeat(65),
    'a//b',
    '/a',
    'a/',
    '..',
    'a/../b',
    '.git',
    '-x',
    'a b',
    'ä',
    'x.lock',
    'a.',
    'a..b',
    'a\n',
  ])('%j is none', (name) => {
    expect(treeNameProblem(name)).toBeDefined()
  })
})
