import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { hashOf } from '../../../src/effects/tools/file-access.ts'
import { readTool } from '../../../src/effects/tools/read.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
beforeEach(async () => {
  bench = await createWorkbench()
})
afterEach(() => bench.dispose())

const read = (file_path: string, more: { offset?: number; limit?: number } = {}) =>
  bench.call(readTool, { file_path, ...more })

it('numbers lines as cat -n does, and tells which content was seen', async () => {
  const path = await bench.put('a.txt', 'one\n\ttwo\n\nfour\n')
  expect(await read('a.txt')).toEqual({
    content: '     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour',
    structured: {
      type: 'text',
      file: { filePath: path, content: 'one\n\ttwo\n\nfour', numLines: 4, startLine: 1, totalLines: 4 },
    },
    files: [{ path, hash: hashOf(Buffer.from('one\n\ttwo\n\nfour\n')) }],
  })
})

it('takes absolute paths, and names the file by its real path in what was seen', async () => {
  const path = await bench.put('src/a.txt', 'x')
  await symlink(path, join(bench.cwd, 'link'))
  expect(await read(path)).toMatchObject({ content: '     1\tx' })
  expect(await read('link')).toMatchObject({ files: [{ path }] })
})

it('gives the lines that were asked for, with their own numbers', async () => {
  await bench.put('a.txt', 'a\nb\nc\nd')
  expect(await read('a.txt', { offset: 2, limit: 2 })).toMatchObject({
    content: '     2\tb\n     3\tc',
    structured: { file: { content: 'b\nc', numLines: 2, startLine: 2, totalLines: 4 } },
  })
})

it('shows CRLF lines without their ends', async () => {
  await bench.put('a.txt', 'a\r\nb\r\n')
  expect((await read('a.txt')).content).toBe('     1\ta\n     2\tb')
})

it('stops after 2,000 lines and says where to go on', async () => {
  await bench.put('long.txt', 'x\n'.repeat(2500))
  const { content, structured } = await read('long.txt')
  expect(String(content).split('\n')[1999]).toBe('  2000\tx')
  expect(content).toMatch(/\n\n\[Lines 1 to 2000 of 2500\. Go on with offset 2001\.]$/)
  expect(structured).toMatchObject({ file: { numLines: 2000, totalLines: 2500 } })
  expect(String((await read('long.txt', { offset: 2001 })).content).split('\n')).toHaveLength(500)
})

it('stops between lines before a result becomes too long for a request', async () => {
  await bench.put('wide.txt', `${'x'.repeat(990)}\n`.repeat(100))
  const { content } = await read('wide.txt')
  expect(String(content).length).toBeLessThan(50_000)
  expect(content).toMatch(/\[Lines 1 to 48 of 100\. Go on with offset 49\.]$/)
})

it('cuts a long line without splitting a character', async () => {
  await bench.put('a.txt', `${'x'.repeat(1999)}🙂rest`)
  const { content } = await read('a.txt')
  expect(content).toBe(`     1\t${'x'.repeat(1999)}… [cut, 2005 characters]`)
})

it('says that a file is empty', async () => {
  const path = await bench.put('empty', '')
  expect(await read('empty')).toMatchObject({
    content: `${path} exists and is empty.`,
    structured: { file: { numLines: 0, totalLines: 0 } },
    files: [{ path }],
  })
})

it('shows a picture by what it is, not by its name', async () => {
  const png = Buffer.from('89504e470d0a1a0a00000000', 'hex')
  const path = await bench.put('picture.jpg', png)
  expect(await read('picture.jpg')).toEqual({
    content: [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } },
    ],
    structured: { type: 'image', file: { filePath: path, type: 'image/png', originalSize: 12 } },
    files: [{ path, hash: hashOf(png) }],
  })
})

it('remembers that a missing file was seen to be missing', async () => {
  await read('later.txt')
  expect(bench.seen.hashOf(join(bench.cwd, 'later.txt'))).toBeNull()
})

it.each<[string, string, object, RegExp]>([
  ['a misspelt name', 'src/indx.ts', {}, /src\/indx\.ts does not exist\. Did you mean .*\/src\/index\.ts\?$/],
  ['another extension', 'src/index.js', {}, /Did you mean .*index\.ts\?$/],
  ['another case', 'SRC/../src/INDEX.ts', {}, /Did you mean .*index\.ts\?$/],
  ['nothing like it', 'quite-different.md', {}, /does not exist\. The working directory is .*project\.$/],
  ['a missing folder', 'nowhere/a.md', {}, /Its folder does not exist either/],
  ['a folder', 'src', {}, /src is a folder\. Use Glob/],
  ['a path through a file', 'src/index.ts/x', {}, /index\.ts is a file, so .* cannot exist/],
  ['a binary file', 'binary', {}, /is a binary file \(4 bytes\)/],
  ['a line past the end', 'src/index.ts', { offset: 9 }, /has only 1 line; there is no line 9/],
  ['an empty path', '', {}, /The path is empty/],
])('refuses %s in words that help', async (_, path, more, message) => {
  await bench.put('src/index.ts', 'export {}\n')
  await bench.put('binary', Buffer.from([1, 0, 2, 3]))
  const output = await read(path, more)
  expect(output.isError).toBe(true)
  expect(output.content).toMatch(message)
})

it('is harmless', () => {
  expect([readTool.resume, readTool.isReadOnly({ file_path: 'x' }), readTool.writes]).toEqual([
    'repeat',
    true,
    undefined,
  ])
})
