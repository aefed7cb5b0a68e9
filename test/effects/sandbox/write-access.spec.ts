/** What commands may write, worked out from real folders and repositories. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { PROTECTED_NAMES } from '../../../src/definitions/permissions/protected-names.ts'
import { type SandboxPlace, writeAccessOf } from '../../../src/effects/sandbox/write-access.ts'
import { isInside } from '../../../src/effects/tools/confinement.ts'
import { git, repository, scratch, write } from '../worktrees/world.ts'

const NOTHING: Parameters<typeof writeAccessOf>[1] = { allowWrite: [], denyWrite: [], denyRead: [] }
const access = (cwd: string, place: Partial<SandboxPlace> = {}, plan: Partial<typeof NOTHING> = {}) =>
  writeAccessOf({ cwd, writableRoots: [], temp: '/temp', records: [], ...place }, { ...NOTHING, ...plan })

/** Whether a path may be written: below something allowed, and not below something denied. */
function mayWrite(cwd: string, target: string, ...more: [Partial<SandboxPlace>?, Partial<typeof NOTHING>?]) {
  const { allowWrite, denyWrite } = access(cwd, ...more)
  const has = (roots: readonly string[]): boolean => roots.some((root) => isInside(root, target))
  return has(allowWrite) && !has(denyWrite)
}

describe('commands may write', () => {
  it('in the working directories, for temporary files, and where somebody allows it', () => {
    const [cwd, further, allowed] = [scratch(), scratch(), scratch()]
    expect(access(cwd, { writableRoots: [further] }, { allowWrite: [allowed] }).allowWrite).toEqual([
      ...[cwd, further, allowed, '/temp'],
    ])
  })

  it.each([...PROTECTED_NAMES])('no %s in any of them, whether it is there or not', (name) => {
    const [cwd, further, allowed] = [scratch(), scratch(), scratch()]
    writeFileSync(path.join(further, name), '')
    mkdirSync(path.join(allowed, name))
    const [place, plan] = [{ writableRoots: [further] }, { allowWrite: [allowed] }]
    for (const root of [cwd, further]) expect(mayWrite(cwd, path.join(root, name), place, plan)).toBe(false)
    expect(mayWrite(cwd, path.join(allowed, name, 'config'), place, plan)).toBe(false)
  })

  it('no records, and nothing that somebody forbids, whatever somebody allows', () => {
    const cwd = scratch()
    const place = { records: [path.join(cwd, 'logs')] }
    const plan = { allowWrite: [path.join(cwd, 'logs')], denyWrite: [path.join(cwd, 'dist')] }
    expect(mayWrite(cwd, path.join(cwd, 'logs/a.jsonl'), place, plan)).toBe(false)
    expect(mayWrite(cwd, path.join(cwd, 'dist/a.js'), place, plan)).toBe(false)
    expect(mayWrite(cwd, path.join(cwd, 'src/a.ts'), place, plan)).toBe(true)
  })

  it('what a commit needs, and nothing that makes git run something', () => {
    const root = repository()
    for (const cwd of [root, path.join(root, 'folder')]) {
      for (const name of ['index.lock', 'objects/aa', 'refs/heads/x', 'COMMIT_EDITMSG'])
        expect([name, mayWrite(cwd, path.join(root, '.git', name))]).toEqual([name, true])
      for (const name of ['config', 'hooks/pre-commit', 'modules/m/config', 'worktrees/x/commondir'])
        expect([name, mayWrite(cwd, path.join(root, '.git', name))]).toEqual([name, false])
    }
  })

  it('of a linked worktree its own part of the repository, and not where that leads', () => {
    const root = repository()
    const tree = path.join(root, '.claude/worktrees/x')
    git(root, 'worktree', 'add', '-q', tree)
    git(root, 'worktree', 'add', '-q', path.join(root, '.claude/worktrees/y'))
    const may = (name: string): boolean => mayWrite(tree, path.join(root, name))
    const yes = ['.git/objects/aa', '.git/refs/heads/x', '.git/logs/HEAD', '.git/worktrees/x/index.lock']
    const no = [
      ...['.git/config', '.git/index.lock', '.git/HEAD', '.git/commondir', '.git/hooks/pre-commit'],
      ...['.git/worktrees/x/commondir', '.git/worktrees/x/gitdir', '.git/worktrees/y/index.lock'],
      ...['.claude/worktrees/x/.git', '.claude/worktrees/y/a.txt', 'a.txt'],
    ]
    expect(yes.filter((name) => !may(name))).toEqual([])
    expect(no.filter(may)).toEqual([])
    expect(may('.claude/worktrees/x/a.txt')).toBe(true)
  })

  it('nothing of a folder that a `.git` file names and that does not name the tree in turn', () => {
    const [cwd, other] = [scratch(), repository()]
    const claimed = path.join(other, '.git/worktrees/x')
    write(cwd, { '.git': `gitdir: ${claimed}\n` })
    write(claimed, { commondir: '../..\n', gitdir: `${other}/elsewhere/.git\n`, HEAD: 'ref: refs/heads/x\n' })
    expect(access(cwd).allowWrite).toEqual([cwd, '/temp'])
    write(cwd, { '.git': `gitdir: ${other}\n` })
    expect(access(cwd).allowWrite).toEqual([cwd, '/temp'])
  })

  it('of a folder around the working directory nothing where protecting it would take that directory', () => {
    const root = repository()
    const tree = path.join(root, '.claude/worktrees/x')
    git(root, 'worktree', 'add', '-q', tree)
    const place = { writableRoots: [root] }
    expect(mayWrite(tree, path.join(tree, 'a.txt'), place)).toBe(true)
    expect(mayWrite(tree, path.join(root, 'a.txt'), place)).toBe(false)
  })
})
