/** `troupe worktrees` on a real repository. */
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseArguments } from '../../src/cli/arguments.ts'
import { UsageError } from '../../src/cli/errors.ts'
import { main } from '../../src/cli/run-cli.ts'
import {
  git,
  makeTree,
  repository,
  scratch,
  worktreesOfDead,
  worktreesWith,
  write,
} from '../effects/worktrees/world.ts'
import { createFakeHost } from './support/fake-host.ts'

async function troupe(cwd: string, ...args: readonly string[]) {
  const fake = createFakeHost(['worktrees', ...args], { cwd, worktrees: worktreesWith() })
  const code = await main(fake.host)
  const { stdout, stderr } = fake
  return { code, stdout, stderr }
}

describe('the command line', () => {
  it.each([
    [['worktrees'], { action: 'list', json: false }],
    [['worktrees', 'list', '--json'], { action: 'list', json: true }],
    [['worktrees', 'diff', 'a'], { action: 'diff', name: 'a' }],
    [['worktrees', 'merge', 'a'], { action: 'merge', name: 'a' }],
    [['worktrees', 'prune', '--merged'], { action: 'prune', merged: true }],
  ])('%j is understood', (argv, worktrees) => {
    expect(parseArguments(argv, '1.2.3')).toMatchObject({ kind: 'worktrees', worktrees })
  })

  it('a word that is none of its commands is refused with the one that is meant', () => {
    expect(() => parseArguments(['worktrees', 'prun'], '1.2.3')).toThrow(UsageError)
    expect(() => parseArguments(['worktrees', 'prun'], '1.2.3')).toThrow('prune')
  })
})

describe('on a repository', () => {
  it('lists what agents have left, shows it, merges it and removes it', async () => {
    const root = repository()
    const tree = await makeTree(worktreesOfDead(), root)
    write(tree.path, { 'a.txt': 'better\n' })
    git(tree.path, 'commit', '--quiet', '-am', 'better')
    const listed = await troupe(root)
    expect(listed.stdout).toContain(`${tree.name}  left, branch ${tree.branch}`)
    expect(listed.stdout).toContain('1 commit since it was made')
    expect(JSON.parse((await troupe(root, 'list', '--json')).stdout)).toMatchObject({
      name: tree.name,
      owner: 'dead',
    })
    expect((await troupe(root, 'diff', tree.name)).stdout).toContain('+better')
    expect((await troupe(root, 'prune')).stdout).toContain(`kept    ${tree.name}: 1 commit`)
    expect((await troupe(root, 'merge', tree.branch)).code).toBe(0)
    expect((await troupe(root, 'prune', '--merged')).stdout).toBe(`removed ${tree.name}\n`)
    expect((await troupe(root)).stderr).toContain('No agent has left a worktree')
  })

  it('says what is wrong: no repository, no such worktree', async () => {
    expect(await troupe(scratch())).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not in a git repository'),
    })
    const root = repository()
    const tree = await makeTree(worktreesWith(), root)
    expect(await troupe(root, 'diff', 'x')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(path.basename(tree.path)),
    })
  })
})
