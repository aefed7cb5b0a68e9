/** Making worktrees in real repositories of every kind. */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { agentTreeNames } from '../../../src/definitions/worktrees/names.ts'
import { onceWritten } from '../../helpers/real-processes.ts'
import {
  agentId,
  git,
  makeTree,
  NOTHING_REMAINS,
  remains,
  repository,
  scratch,
  worktreesWith,
  write,
} from './world.ts'

describe('making a worktree', () => {
  it('puts it below the root, on a branch of its own without upstream, from the HEAD of the caller', async () => {
    const root = repository()
    git(root, 'config', 'branch.autoSetupMerge', 'always')
    const tree = await makeTree(worktreesWith(), root)
    expect(tree).toMatchObject({
      name: 'agent-00000001',
      path: path.join(root, '.claude/worktrees/agent-00000001'),
      branch: 'worktree-agent-00000001',
      base: git(root, 'rev-parse', 'HEAD'),
      repository: path.join(root, '.git'),
      lacksChanges: false,
      notes: [],
    })
    expect(readFileSync(path.join(tree.path, 'folder/b.txt'), 'utf8')).toBe('two\n')
    expect(git(tree.path, 'symbolic-ref', '--short', 'HEAD')).toBe(tree.branch)
    expect(() => git(root, 'config', `branch.${tree.branch}.merge`)).toThrow()
    expect(git(root, 'status', '--porcelain')).toBe('')
  })

  it('is recorded before it is used, and hidden from git status once', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    await makeTree(worktrees, root, agentId(1))
    await makeTree(worktrees, root, agentId(2))
    expect(remains(root).records).toEqual(['agent-00000001.json', 'agent-00000002.json'])
    const exclude = readFileSync(path.join(root, '.git/info/exclude'), 'utf8')
    expect(exclude.match(/^\/\.claude\/worktrees\/$/gmu)).toHaveLength(1)
  })

  it('starts from the tree of a caller that is in a worktree itself, and lies beside it', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const outer = await makeTree(worktrees, root, agentId(1))
    write(outer.path, { 'a.txt': 'changed\n' })
    git(outer.path, 'commit', '--quiet', '-am', 'in the tree')
    const inner = await makeTree(worktrees, outer.path, agentId(2))
    expect(inner.base).toBe(git(outer.path, 'rev-parse', 'HEAD'))
    expect(inner.base).not.toBe(git(root, 'rev-parse', 'HEAD'))
    expect(path.dirname(inner.path)).toBe(path.dirname(outer.path))
  })

  it('takes more digits where the name is taken by a branch, a folder or another agent', async () => {
    const root = repository()
    git(root, 'branch', 'worktree-agent-00000001')
    mkdirSync(path.join(root, '.claude/worktrees/agent-00000001c'), { recursive: true })
    const tree = await makeTree(worktreesWith(), root)
    expect(tree.name).toBe('agent-00000001ca')
  })

  it('refuses what somebody else has taken since it was planned, and leaves it alone', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const plan = await worktrees.plan({ cwd: root, agentId: agentId(1), names: agentTreeNames(agentId(1)) })
    git(root, 'branch', plan.branch)
    await expect(worktrees.create(plan, { cwd: root })).rejects.toMatchObject({
      code: 'worktree-taken',
    })
    expect(remains(root)).toEqual({ branches: [plan.branch], trees: 1, records: [] })
  })

  it('done twice makes one', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    write(tree.path, { 'work.txt': 'mine' })
    await worktrees.create(tree, { cwd: root })
    expect(existsSync(path.join(tree.path, 'work.txt'))).toBe(true)
    expect(remains(root)).toMatchObject({ trees: 2, records: ['agent-00000001.json'] })
  })

  it('takes down what it made when a step fails, branch included', async () => {
    const root = repository()
    write(root, { 'sub/file.txt': 'x' })
    git(root, 'add', '--all')
    git(root, 'commit', '--quiet', '-m', 'second')
    const blob = git(root, 'rev-parse', 'HEAD:sub/file.txt')
    const object = path.join(root, '.git/objects', blob.slice(0, 2), blob.slice(2))
    rmSync(object)
    await expect(makeTree(worktreesWith(), root)).rejects.toMatchObject({ code: 'worktree-git-failed' })
    expect(remains(root)).toEqual(NOTHING_REMAINS)
  })

  it('passes an abort on, and takes down what it made', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const abort = new AbortController()
    const plan = await worktrees.plan({ cwd: root, agentId: agentId(1), names: agentTreeNames(agentId(1)) })
    const records = path.join(root, '.git/troupe/worktrees')
    mkdirSync(records, { recursive: true })
    const isRecorded = onceWritten(path.join(records, `${plan.name}.json`))
    const made = worktrees.create(plan, { cwd: root, signal: abort.signal })
    void isRecorded.then(() => abort.abort(new Error('enough')))
    await expect(made).rejects.toThrow('enough')
    expect(remains(root)).toEqual(NOTHING_REMAINS)
  })
})

describe('repositories of every kind', () => {
  it('a path with spaces, quotes and other scripts', async () => {
    const root = repository("mein 'Projekt' – проект 工程")
    write(root, { 'ж ö/файл "1".txt': 'x' })
    git(root, 'add', '--all')
    git(root, 'commit', '--quiet', '-m', 'names')
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    expect(existsSync(path.join(tree.path, 'ж ö/файл "1".txt'))).toBe(true)
    write(tree.path, { 'ж ö/файл "1".txt': 'y' })
    expect((await worktrees.inspect(tree)).changed).toEqual(['ж ö/файл "1".txt'])
  })

  it('a detached HEAD', async () => {
    const root = repository()
    git(root, 'checkout', '--quiet', '--detach')
    const tree = await makeTree(worktreesWith(), root)
    expect(tree.base).toBe(git(root, 'rev-parse', 'HEAD'))
  })

  it('no commits yet: says what to do', async () => {
    const root = scratch()
    git(root, 'init', '--quiet')
    await expect(makeTree(worktreesWith(), root)).rejects.toMatchObject({
      code: 'worktree-no-commits',
      message: expect.stringContaining('Commit something first'),
    })
  })

  it('no repository: says what to do', async () => {
    const folder = scratch()
    expect(worktreesWith().isRepository(folder)).toBe(false)
    await expect(makeTree(worktreesWith(), folder)).rejects.toMatchObject({
      code: 'worktree-no-repository',
      message: expect.stringContaining('WorktreeCreate'),
    })
  })

  it('a bare clone, and a tree that is linked to it', async () => {
    const folder = scratch()
    const bare = path.join(folder, 'bare.git')
    git(folder, 'clone', '--quiet', '--bare', repository(), bare)
    const worktrees = worktreesWith()
    const first = await makeTree(worktrees, bare, agentId(1))
    expect(first.path).toBe(path.join(bare, '.claude/worktrees/agent-00000001'))
    const linked = path.join(folder, 'linked')
    git(bare, 'worktree', 'add', '--quiet', linked)
    const second = await makeTree(worktrees, linked, agentId(2))
    expect(second.path).toBe(path.join(bare, '.claude/worktrees/agent-00000002'))
    expect((await worktrees.decide(second)).kind).toBe('remove')
  })

  it('a linked worktree of the person: below the main tree, which nobody removes', async () => {
    const root = repository()
    const linked = path.join(path.dirname(root), 'linked')
    git(root, 'worktree', 'add', '--quiet', linked)
    const tree = await makeTree(worktreesWith(), linked)
    expect(tree.path.startsWith(root + path.sep)).toBe(true)
  })

  it('a shallow clone', async () => {
    const origin = repository()
    git(origin, 'commit', '--quiet', '--allow-empty', '-m', 'second')
    const clone = path.join(scratch(), 'clone')
    git(path.dirname(clone), 'clone', '--quiet', '--depth=1', `file://${origin}`, clone)
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, clone)
    expect((await worktrees.decide(tree)).kind).toBe('remove')
  })

  it('a submodule as the repository, and a repository with submodules', async () => {
    const inner = repository('inner')
    const root = repository()
    git(root, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'sub')
    git(root, 'commit', '--quiet', '-m', 'sub')
    const worktrees = worktreesWith()
    const outer = await makeTree(worktrees, root, agentId(1))
    expect((await worktrees.decide(outer)).kind).toBe('remove')
    const within = await makeTree(worktrees, path.join(root, 'sub'), agentId(2))
    expect(within.path).toBe(path.join(root, 'sub/.claude/worktrees/agent-00000002'))
    expect((await worktrees.decide(within)).kind).toBe('remove')
  })

  it('hooks, watchers and filters of the repository would run code: none of it runs', async () => {
    const root = repository()
    const trap = path.join(path.dirname(root), 'trap')
    const sprung = path.join(path.dirname(root), 'sprung')
    mkdirSync(trap)
    const script = path.join(trap, 'post-checkout')
    writeFileSync(script, `#!/bin/sh\necho "$0" >> "${sprung}"\ncat\n`)
    chmodSync(script, 0o755)
    symlinkSync(script, path.join(trap, 'post-index-change'))
    symlinkSync(script, path.join(trap, 'reference-transaction'))
    git(root, 'config', 'core.hooksPath', trap)
    git(root, 'config', 'core.fsmonitor', script)
    git(root, 'config', 'filter.trap.smudge', script)
    git(root, 'config', 'filter.trap.clean', script)
    git(root, 'config', 'filter.trap.required', 'true')
    write(root, { '.git/info/attributes': '*.txt filter=trap\n' })
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    expect(tree.notes.join()).toContain('filters (trap)')
    write(tree.path, { 'a.txt': 'other\n' })
    expect((await worktrees.decide(tree)).kind).toBe('keep')
    await worktrees.diff(root, tree.name)
    await worktrees.remove(tree)
    expect(existsSync(sprung)).toBe(false)
  })

  it('with more filters than can be turned off nothing is done that might run one', async () => {
    const root = repository()
    const sprung = path.join(path.dirname(root), 'sprung')
    const worktrees = worktreesWith({ uncommitted: 'snapshot' })
    const tree = await makeTree(worktrees, root)
    const filters = Array.from(
      { length: 101 },
      (_, i) => `[filter "f${i}"]\n\tclean = touch '${sprung}'; cat\n`,
    )
    appendFileSync(path.join(root, '.git/config'), filters.join(''))
    write(root, { '.git/info/attributes': '*.txt filter=f100\n', 'a.txt': 'eno\n' })
    write(tree.path, { 'a.txt': 'eno\n' })
    const refused = { code: 'worktree-git-failed', message: expect.stringContaining('more filters') }
    await expect(makeTree(worktrees, root, agentId(2))).rejects.toMatchObject(refused)
    await expect(worktrees.diff(root, tree.name)).rejects.toMatchObject(refused)
    await expect(worktrees.merge(root, tree.name)).rejects.toMatchObject(refused)
    expect(await worktrees.decide(tree)).toMatchObject({
      kind: 'keep',
      reasons: [expect.stringContaining('more filters')],
    })
    expect(existsSync(sprung)).toBe(false)
  })

  it('a folder for worktrees that leads elsewhere is refused', async () => {
    const root = repository()
    const elsewhere = scratch()
    symlinkSync(elsewhere, path.join(root, '.claude'))
    await expect(makeTree(worktreesWith(), root)).rejects.toMatchObject({ code: 'worktree-place' })
    expect(remains(root)).toEqual(NOTHING_REMAINS)
  })

  it('a stale lock of git is told with what to do', async () => {
    const root = repository()
    const lock = path.join(root, '.git/refs/heads/worktree-agent-00000001.lock')
    writeFileSync(lock, '')
    await expect(makeTree(worktreesWith(), root)).rejects.toThrow(new RegExp(`delete ${lock}`, 'u'))
    expect(existsSync(lock)).toBe(true)
  })
})

describe('what a worktree gets', () => {
  it('chosen folders only, with sparse checkout', async () => {
    const root = repository()
    write(root, { 'other/c.txt': 'three\n' })
    git(root, 'add', '--all')
    git(root, 'commit', '--quiet', '-m', 'other')
    const worktrees = worktreesWith({ sparsePaths: ['folder'] })
    const tree = await makeTree(worktrees, root)
    expect(existsSync(path.join(tree.path, 'folder/b.txt'))).toBe(true)
    expect(existsSync(path.join(tree.path, 'other'))).toBe(false)
    expect(existsSync(path.join(root, 'other/c.txt'))).toBe(true)
    expect((await worktrees.decide(tree)).kind).toBe('remove')
    write(tree.path, { 'other/new.txt': 'x' })
    expect((await worktrees.decide(tree)).kind).toBe('keep')
  })

  it('links to folders of the caller, which do not count while they are ours', async () => {
    const root = repository()
    write(root, { 'node_modules/x/index.js': '1' })
    const worktrees = worktreesWith({ symlinkDirectories: ['node_modules', 'missing'] })
    const tree = await makeTree(worktrees, root)
    expect(readlinkSync(path.join(tree.path, 'node_modules'))).toBe(path.join(root, 'node_modules'))
    expect(tree.notes.join()).toContain('missing was not linked')
    expect(git(tree.path, 'status', '--porcelain')).toContain('node_modules')
    expect((await worktrees.decide(tree)).kind).toBe('remove')
    await worktrees.remove(tree)
    expect(existsSync(path.join(root, 'node_modules/x/index.js'))).toBe(true)
    expect(remains(root)).toEqual(NOTHING_REMAINS)
  })

  it('links that would lead out, or over what the commit has, are refused and told', async () => {
    const root = repository()
    const outside = scratch()
    write(outside, { 'secret/key': 'x' })
    // What a hostile commit can hold: links in folders that are then not checked out.
    mkdirSync(path.join(root, 'hostile'))
    symlinkSync(outside, path.join(root, 'hostile/out'))
    symlinkSync('../.git/hooks', path.join(root, 'hostile/hooks'))
    git(root, 'add', '--all')
    git(root, 'commit', '--quiet', '-m', 'links')
    symlinkSync(outside, path.join(root, 'node_modules'))
    write(root, { 'other/x.txt': 'x' })
    const folders = ['hostile/out', 'hostile/out/secret', 'hostile/hooks', 'node_modules', 'folder', 'run.sh']
    const bad = ['../x', '/etc', '.git/hooks', 'other/.GIT', '.', 'a\nb']
    const worktrees = worktreesWith({
      sparsePaths: ['other'],
      symlinkDirectories: [...folders, ...bad, 'other'],
    })
    const tree = await makeTree(worktrees, root)
    for (const folder of [...folders, ...bad])
      expect(tree.notes.join('\n')).toContain(`${folder} was not linked: `)
    expect(
      readdirSync(tree.path).filter((name) => !['.git', '.gitignore', 'a.txt', 'run.sh'].includes(name)),
    ).toEqual(['other'])
    expect(readlinkSync(path.join(tree.path, 'other'))).toBe(path.join(root, 'other'))
    expect(existsSync(path.join(path.dirname(tree.path), 'x'))).toBe(false)
  })

  it('in a tree within a tree the link leads to the folder itself', async () => {
    const root = repository()
    write(root, { 'node_modules/x/index.js': '1' })
    const worktrees = worktreesWith({ symlinkDirectories: ['node_modules'] })
    const upper = await makeTree(worktrees, root)
    const lower = await makeTree(worktrees, upper.path, agentId(2))
    expect(readlinkSync(path.join(lower.path, 'node_modules'))).toBe(path.join(root, 'node_modules'))
  })

  it('a .worktreeinclude that is a link is not read', async () => {
    const root = repository()
    const outside = scratch()
    write(outside, { list: '*.log\n' })
    symlinkSync(path.join(outside, 'list'), path.join(root, '.worktreeinclude'))
    write(root, { 'noise.log': 'x' })
    const tree = await makeTree(worktreesWith(), root)
    expect(existsSync(path.join(tree.path, 'noise.log'))).toBe(false)
    expect(tree.notes.join()).toContain('.worktreeinclude is no plain file')
  })

  it('a link that was replaced counts', async () => {
    const root = repository()
    write(root, { 'node_modules/x/index.js': '1' })
    const worktrees = worktreesWith({ symlinkDirectories: ['node_modules'] })
    const tree = await makeTree(worktrees, root)
    rmSync(path.join(tree.path, 'node_modules'))
    write(tree.path, { 'node_modules/mine.js': '2' })
    expect(await worktrees.inspect(tree)).toMatchObject({ touched: ['node_modules'] })
  })

  it('copies of ignored files that .worktreeinclude names, and of no others', async () => {
    const root = repository()
    write(root, {
      '.gitignore': '.env*\n*.log\n',
      '.worktreeinclude': '.env*\n*.txt\n',
      '.env': 'A=1\n',
      'deep/.env.local': 'B=2\n',
      'noise.log': 'x',
      'untracked.txt': 'y',
    })
    git(root, 'add', '.gitignore')
    git(root, 'commit', '--quiet', '-m', 'ignore')
    const worktrees = worktreesWith({ keepIgnored: true })
    const tree = await makeTree(worktrees, root)
    expect(readFileSync(path.join(tree.path, 'deep/.env.local'), 'utf8')).toBe('B=2\n')
    expect(existsSync(path.join(tree.path, '.env'))).toBe(true)
    expect(existsSync(path.join(tree.path, 'noise.log'))).toBe(false)
    expect(existsSync(path.join(tree.path, 'untracked.txt'))).toBe(false)
    expect((await worktrees.decide(tree)).kind).toBe('remove')
    write(tree.path, { '.env': 'A=2\n' })
    expect(await worktrees.decide(tree)).toMatchObject({
      kind: 'keep',
      reasons: [
        'changed since they were copied or linked there: .env',
        'ignored files, which count here: .env',
      ],
    })
  })

  it.each([
    ['ignore', true],
    ['snapshot', false],
  ] as const)('uncommitted changes, policy %s', async (uncommitted, lacksChanges) => {
    const root = repository()
    write(root, { 'a.txt': 'uncommitted\n', 'new.txt': 'new\n', 'noise.log': 'x' })
    const before = git(root, 'status', '--porcelain')
    const worktrees = worktreesWith({ uncommitted })
    const tree = await makeTree(worktrees, root)
    expect(tree.lacksChanges).toBe(lacksChanges)
    expect(readFileSync(path.join(tree.path, 'a.txt'), 'utf8')).toBe(lacksChanges ? 'one\n' : 'uncommitted\n')
    expect(existsSync(path.join(tree.path, 'new.txt'))).toBe(!lacksChanges)
    expect(existsSync(path.join(tree.path, 'noise.log'))).toBe(false)
    expect(git(root, 'status', '--porcelain')).toBe(before)
    expect((await worktrees.decide(tree)).kind).toBe('remove')
  })

  it('uncommitted changes, policy refuse: nothing is made', async () => {
    const root = repository()
    write(root, { 'new.txt': 'new\n' })
    await expect(makeTree(worktreesWith({ uncommitted: 'refuse' }), root)).rejects.toMatchObject({
      code: 'worktree-uncommitted',
      message: expect.stringContaining('new.txt'),
    })
    expect(remains(root)).toEqual(NOTHING_REMAINS)
  })
})

describe('going on in a worktree', () => {
  it('is the same one, with everything in it', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    write(tree.path, { 'work.txt': 'mine' })
    const again = await worktrees.reopen(tree, { cwd: root })
    expect(again.wasMade).toBe(false)
    expect(readFileSync(path.join(tree.path, 'work.txt'), 'utf8')).toBe('mine')
  })

  it('one that is gone is made again from its branch, so that its commits are there', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    write(tree.path, { 'a.txt': 'committed\n' })
    git(tree.path, 'commit', '--quiet', '-am', 'work')
    rmSync(tree.path, { recursive: true })
    expect((await worktrees.reopen(tree, { cwd: root })).wasMade).toBe(true)
    expect(readFileSync(path.join(tree.path, 'a.txt'), 'utf8')).toBe('committed\n')
  })

  it('one that was swept is made again from the recorded commit', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    await worktrees.remove(tree)
    expect((await worktrees.reopen(tree, { cwd: root })).wasMade).toBe(true)
    expect(git(tree.path, 'rev-parse', 'HEAD')).toBe(tree.base)
    expect(lstatSync(tree.path).isDirectory()).toBe(true)
  })

  it('a commit or a repository that is gone, or a folder that is something else, is an error and not the main checkout', async () => {
    const root = repository()
    const worktrees = worktreesWith()
    const tree = await makeTree(worktrees, root)
    await worktrees.remove(tree)
    const use = { cwd: root }
    await expect(worktrees.reopen({ ...tree, base: `${'0'.repeat(39)}1` }, use)).rejects.toMatchObject({
      code: 'worktree-base-gone',
    })
    write(tree.path, { 'mine.txt': 'x' })
    await expect(worktrees.reopen(tree, use)).rejects.toMatchObject({ code: 'worktree-taken' })
    expect(existsSync(path.join(tree.path, 'mine.txt'))).toBe(true)
    rmSync(root, { recursive: true })
    await expect(worktrees.reopen(tree, use)).rejects.toMatchObject({ code: 'worktree-base-gone' })
    expect(realpathSync(path.dirname(root))).toBe(path.dirname(root))
  })
})
