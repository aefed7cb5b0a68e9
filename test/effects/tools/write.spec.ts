import { chmod, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hashOf, oneAtATime, replaceFile } from '../../../src/effects/tools/file-access.ts'
import { readTool } from '../../../src/effects/tools/read.ts'
import { writeTool } from '../../../src/effects/tools/write.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
beforeEach(async () => {
  bench = await createWorkbench()
})
afterEach(() => bench.dispose())

const write = (file_path: string, content: string) => bench.call(writeTool, { file_path, content })
const read = (file_path: string) => bench.call(readTool, { file_path })
const hash = (text: string): string => hashOf(Buffer.from(text))

it('creates a file with its folders', async () => {
  const path = join(bench.cwd, 'a/b/c.txt')
  expect(await write('a/b/c.txt', 'one\ntwo\n')).toEqual({
    content: `Created ${path} (2 lines).`,
    structured: { type: 'create', filePath: path, content: 'one\ntwo\n', structuredPatch: [] },
    files: [{ path, hash: hash('one\ntwo\n') }],
  })
  expect(await bench.names()).toEqual(['a', 'a/b', 'a/b/c.txt'])
})

it('replaces a file that was read, and shows what changed', async () => {
  const path = await bench.put('a.txt', 'one\ntwo\n')
  await read('a.txt')
  expect(await write('a.txt', 'one\n2\n')).toMatchObject({
    content: `Replaced ${path} (2 lines).`,
    structured: {
      type: 'update',
      structuredPatch: [
        { oldStart: 1, oldLines: 2, newStart: 1, newLines: 2, lines: [' one', '-two', '+2'] },
      ],
    },
  })
})

it('writes on top of its own write without another read', async () => {
  await write('a.txt', 'one')
  expect((await write('a.txt', 'two')).isError).toBeUndefined()
  expect(await bench.get('a.txt')).toBe('two')
})

it('keeps the permission bits', async () => {
  const path = await bench.put('run.sh', 'old')
  await chmod(path, 0o750)
  await read('run.sh')
  await write('run.sh', 'new')
  expect((await stat(path)).mode & 0o7777).toBe(0o750)
})

it('says the same of a file that already has the content, and does not touch it', async () => {
  const path = await bench.put('a.txt', 'same')
  const before = await stat(path)
  await read('a.txt')
  expect((await write('a.txt', 'same')).isError).toBeUndefined()
  expect((await stat(path)).ino).toBe(before.ino)
})

describe('a stale view', () => {
  it.each<[string, (path: string) => Promise<unknown>, RegExp]>([
    ['never read', (path) => writeFile(path, 'theirs'), /exists and you have not read it\. Read it first/],
    [
      'changed since it was read',
      async (path) => {
        await writeFile(path, 'old')
        await read('a.txt')
        await writeFile(path, 'theirs')
      },
      /was changed by somebody else since you last saw it\. Read it again/,
    ],
    [
      'created since it was seen to be missing',
      async (path) => {
        await read('a.txt')
        await writeFile(path, 'theirs')
      },
      /was created by somebody else in the meantime/,
    ],
  ])('is refused: %s', async (_, prepare, message) => {
    const path = join(bench.cwd, 'a.txt')
    await prepare(path)
    const output = await write('a.txt', 'mine')
    expect(output.isError).toBe(true)
    expect(output.content).toMatch(message)
    expect(await bench.get('a.txt')).toBe('theirs')
  })

  it('does not stand in the way of writing a deleted file anew', async () => {
    const path = await bench.put('a.txt', 'old')
    await read('a.txt')
    await rm(path)
    expect((await write('a.txt', 'new')).isError).toBeUndefined()
  })
})

describe('a repeat after a crash', () => {
  const input = { file_path: 'a.txt', content: 'after' }
  const repeat = (before: string | null) =>
    bench.call(
      {
        ...writeTool,
        intend: async () => ({ path: join(bench.cwd, 'a.txt'), before, after: hash('after') }),
      },
      input,
      { isRepeat: true },
    )

  it.each<[string, string | null, string | null, string | null, RegExp]>([
    // name, content at the intent, content found now, content afterwards, what is said
    ['did its work: nothing is written again', 'before', 'after', 'after', /^Replaced/],
    ['had not: it is done now', 'before', 'before', 'after', /^Replaced/],
    ['had not, of a new file', null, null, 'after', /^Created/],
    ['had, of a new file', null, 'after', 'after', /^Created/],
    ['found another content', 'before', 'theirs', 'theirs', /was changed by somebody else between/],
    ['found a new file of somebody else', null, 'theirs', 'theirs', /was changed by somebody else between/],
    ['found the file gone', 'before', null, null, /was deleted between/],
  ])('%s', async (_, atIntent, now, afterwards, message) => {
    const path = join(bench.cwd, 'a.txt')
    if (now !== null) await writeFile(path, now)
    const inode = now === null ? undefined : (await stat(path)).ino
    const output = await repeat(atIntent === null ? null : hash(atIntent))
    expect(output.content).toMatch(message)
    expect(output.isError ?? false).toBe(afterwards !== 'after')
    expect(await bench.get('a.txt').catch(() => null)).toBe(afterwards)
    if (now === 'after') expect((await stat(path)).ino).toBe(inode)
  })

  it.each(['before', 'after', 'theirs'])('takes away what the crash left, with %s found', async (now) => {
    await bench.put('a.txt', now)
    // What a crash between writing and renaming leaves, under the name that this very call gives it.
    await bench.put(`.troupe-${hash(bench.context().key).slice(0, 16)}.tmp`, 'half')
    await repeat(hash('before'))
    expect(await bench.names()).toEqual(['a.txt'])
  })

  it('is refused when the path leads elsewhere than it did', async () => {
    const intend = async () => ({ path: join(bench.cwd, 'b.txt'), before: null, after: hash('after') })
    const output = await bench.call({ ...writeTool, intend }, input, { isRepeat: true })
    expect(output.content).toMatch(/led to .*b\.txt and leads to .*a\.txt now\. Nothing was written/)
    expect(await bench.names()).toEqual([])
  })
})

it('looks and promises, but writes nothing, in its intent', async () => {
  const path = join(bench.cwd, 'deep/a.txt')
  const intent = await writeTool.intend?.({ file_path: 'deep/a.txt', content: 'x' }, bench.context())
  expect(intent).toEqual({ path, before: null, after: hash('x') })
  expect(await bench.names()).toEqual([])
})

it('leaves neither a temporary file nor half a file when it fails', async () => {
  await bench.put('folder/x', 'x')
  const onto = join(bench.cwd, 'folder')
  // The name is a folder by now: the very last look finds it.
  const writing = replaceFile({ real: onto, bytes: Buffer.from('y'), replaces: null, key: 'k' })
  await expect(writing).rejects.toThrow(/was created by somebody else/)
  expect(await bench.names()).toEqual(['folder', 'folder/x'])
})

it('writes nothing after an interrupt', async () => {
  const output = await bench.call(
    writeTool,
    { file_path: 'a', content: 'x' },
    { signal: AbortSignal.abort() },
  )
  expect(output).toEqual({ content: `Interrupted. ${join(bench.cwd, 'a')} was not written.`, isError: true })
  expect(await bench.names()).toEqual([])
})

it('of two siblings who write one file at once, one is told that it changed', async () => {
  await bench.put('a.txt', 'old')
  await read('a.txt')
  const outputs = await Promise.all(['mine', 'theirs'].map((content) => write('a.txt', content)))
  expect(outputs.map(({ isError }) => isError ?? false).sort()).toEqual([false, true])
})

it('runs one body at a time per path, also after one has failed', async () => {
  const order: string[] = []
  const body = (name: string, fails: boolean) => async () => {
    order.push(`${name} begins`)
    await Promise.resolve()
    order.push(`${name} ends`)
    if (fails) throw new Error(name)
  }
  const results = await Promise.allSettled([
    oneAtATime('/x', body('first', true)),
    oneAtATime('/x', body('second', false)),
  ])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  expect(order).toEqual(['first begins', 'first ends', 'second begins', 'second ends'])
})
