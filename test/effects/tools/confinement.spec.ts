import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bashTool } from '../../../src/effects/tools/bash.ts'
import { isInside, placePath } from '../../../src/effects/tools/confinement.ts'
import { readPlainFile, replaceFile } from '../../../src/effects/tools/file-access.ts'
import { readTool } from '../../../src/effects/tools/read.ts'
import { writeTool } from '../../../src/effects/tools/write.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
beforeEach(async () => {
  bench = await createWorkbench()
  await mkdir(join(bench.cwd, 'src'))
  await writeFile(join(bench.outside, 'secret'), 'secret')
  await symlink(bench.outside, join(bench.cwd, 'out'))
  await symlink(join(bench.outside, 'secret'), join(bench.cwd, 'out-file'))
  await symlink(join(bench.outside, 'not-yet'), join(bench.cwd, 'dangling'))
  await symlink('loop', join(bench.cwd, 'loop'))
  await symlink('/proc/self/environ', join(bench.cwd, 'environ'))
  await symlink('src', join(bench.cwd, 'inside'))
})
afterEach(() => bench.dispose())

describe('writing', () => {
  it.each<[string, string, RegExp]>([
    ['a relative climb', '../outside/new', /is outside .*project, where this agent may write/],
    ['a climb in the middle', 'src/../../outside/new', /is outside/],
    ['a climb through folders that do not exist', 'no/no/../../../outside/new', /is outside/],
    ['an absolute path', '/tmp/troupe-must-not-exist', /is outside/],
    ['a folder that only begins with the same name', '../project-2/new', /is outside/],
    ['a home folder', '~/troupe-must-not-exist', /is outside/],
    ['a link to a folder outside', 'out/new', /\(it leads to .*outside\/new\) is outside/],
    ['new folders behind a link', 'out/a/b/new', /is outside/],
    ['a link to a file outside', 'out-file', /\(it leads to .*outside\/secret\) is outside/],
    ['a link to nothing', 'dangling', /is a symbolic link that leads to nothing/],
    ['a link to itself', 'loop', /leads back to itself/],
    ['the folder itself', '.', /is a folder/],
    ['the kernel by name', '/proc/self/comm', /belongs to the kernel/],
    ['the working directory by way of the kernel', '/proc/self/cwd/new', /belongs to the kernel/],
    ['a device', '/dev/null', /belongs to the kernel/],
    ['a NUL character', 'src/a\0b', /NUL character/],
  ])('refuses %s', async (_, file_path, message) => {
    const output = await bench.call(writeTool, { file_path, content: 'x' })
    expect(output.isError).toBe(true)
    expect(output.content).toMatch(message)
    expect(await readdir(bench.outside)).toEqual(['secret'])
  })

  it('follows a link that stays inside, and leaves the link a link', async () => {
    await bench.call(writeTool, { file_path: 'inside/new', content: 'x' })
    expect(await bench.get('src/new')).toBe('x')
    expect(await placePath('inside/new', bench.cwd)).toMatchObject({ real: join(bench.cwd, 'src/new') })
  })

  it('goes where the context says it may', async () => {
    const output = await bench.call(
      writeTool,
      { file_path: '../outside/new', content: 'x' },
      { writableRoots: [bench.outside] },
    )
    expect(output.isError).toBeUndefined()
    expect(await readdir(bench.outside)).toEqual(['new', 'secret'])
  })

  it('refuses a folder that was swapped for a link after it was judged', async () => {
    const { real } = await placePath('src/new', bench.cwd)
    await rm(join(bench.cwd, 'src'), { recursive: true })
    await symlink(bench.outside, join(bench.cwd, 'src'))
    const writing = replaceFile({ real, bytes: Buffer.from('x'), replaces: null, key: 'k' })
    await expect(writing).rejects.toThrow(/ELOOP|ENOTDIR|leads elsewhere/)
    expect(await readdir(bench.outside)).toEqual(['secret'])
  })

  it('refuses a folder further up that was swapped for a link', async () => {
    await mkdir(join(bench.cwd, 'src/deep'))
    await mkdir(join(bench.outside, 'deep'))
    const { real } = await placePath('src/deep/new', bench.cwd)
    await rename(join(bench.cwd, 'src'), join(bench.cwd, 'moved'))
    await symlink(bench.outside, join(bench.cwd, 'src'))
    const writing = replaceFile({ real, bytes: Buffer.from('x'), replaces: null, key: 'k' })
    await expect(writing).rejects.toThrow(/leads elsewhere than a moment ago/)
    expect(await readdir(join(bench.outside, 'deep'))).toEqual([])
  })

  it('refuses a link that was put in place of the file, and leaves what it leads to', async () => {
    const path = await bench.put('src/a', 'a')
    const { real } = await placePath('src/a', bench.cwd)
    const replaces = await readPlainFile(real, 100)
    await rm(path)
    await symlink(join(bench.outside, 'secret'), path)
    const writing = replaceFile({ real, bytes: Buffer.from('x'), replaces, key: 'k' })
    await expect(writing).rejects.toThrow(/was changed by somebody else in this very moment/)
    expect((await readPlainFile(join(bench.outside, 'secret'), 100)).bytes.toString()).toBe('secret')
    expect(await readdir(join(bench.cwd, 'src'))).toEqual(['a'])
  })
})

describe('reading', () => {
  it('reaches plain files outside', async () => {
    expect((await bench.call(readTool, { file_path: 'out/secret' })).content).toBe('     1\tsecret')
  })

  it.each<[string, string, RegExp]>([
    ['the environment of this process', '/proc/self/environ', /belongs to the kernel/],
    ['the same behind a link', 'environ', /belongs to the kernel/],
    ['a file by way of the kernel', '/proc/self/root/etc/passwd', /belongs to the kernel/],
    ['an open file by number', '/dev/fd/0', /belongs to the kernel/],
    ['an endless device', '/dev/zero', /belongs to the kernel/],
    ['a named pipe, without waiting for a writer', 'pipe', /is a device, a pipe or a socket/],
    ['a link to itself', 'loop', /leads back to itself/],
  ])('refuses %s', async (_, file_path, message) => {
    await bench.call(bashTool, { command: 'mkfifo pipe' })
    const output = await bench.call(readTool, { file_path })
    expect(output.isError).toBe(true)
    expect(output.content).toMatch(message)
  })

  it('refuses a file that was swapped for a link or a pipe after it was judged', async () => {
    const path = await bench.put('src/a', 'a')
    const { real } = await placePath('src/a', bench.cwd)
    await rm(path)
    await symlink(join(bench.outside, 'secret'), path)
    await expect(readPlainFile(real, 100)).rejects.toThrow(/ELOOP/)
    await rm(path)
    await bench.call(bashTool, { command: `mkfifo ${path}` })
    await expect(readPlainFile(real, 100)).rejects.toThrow(/is not a plain file/)
  })

  it('refuses a file whose folder was swapped for a link after it was judged', async () => {
    await bench.put('src/secret', 'mine')
    const { real } = await placePath('src/secret', bench.cwd)
    await rename(join(bench.cwd, 'src'), join(bench.cwd, 'moved'))
    await symlink(bench.outside, join(bench.cwd, 'src'))
    await expect(readPlainFile(real, 100)).rejects.toThrow(/was moved while it was opened/)
  })

  it('refuses a file larger than it may be', async () => {
    const path = await bench.put('big', 'x'.repeat(101))
    await expect(readPlainFile(path, 100)).rejects.toThrow(/has 101 bytes; this tool takes at most 100/)
  })
})

it.each([
  ['/a', '/a', true],
  ['/a', '/a/b', true],
  ['/a', '/ab', false],
  ['/a/b', '/a', false],
  ['/', '/x', true],
])('inside %s: %s is %s', (root, path, inside) => {
  expect(isInside(root, path)).toBe(inside)
})
