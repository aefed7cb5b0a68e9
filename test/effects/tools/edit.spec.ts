import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type EditInput, editTool } from '../../../src/effects/tools/edit.ts'
import { hashOf } from '../../../src/effects/tools/file-access.ts'
import { readTool } from '../../../src/effects/tools/read.ts'
import { findMatches, replaceMatches } from '../../../src/effects/tools/replace-text.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
beforeEach(async () => {
  bench = await createWorkbench()
})
afterEach(() => bench.dispose())

/** Puts a file, reads it, edits it. */
async function edit(
  content: string | Buffer,
  old_string: string,
  new_string: string,
  more: Partial<EditInput> = {},
) {
  await bench.put('a.ts', content)
  await bench.call(readTool, { file_path: 'a.ts' })
  return bench.call(editTool, { file_path: 'a.ts', old_string, new_string, ...more })
}

it('replaces the one place where the text stands', async () => {
  const path = join(bench.cwd, 'a.ts')
  expect(await edit('let a = 1\nlet b = 2\n', 'b = 2', 'b = 3')).toEqual({
    content: `Edited ${path} at line 2.`,
    structured: {
      filePath: path,
      oldString: 'b = 2',
      newString: 'b = 3',
      originalFile: 'let a = 1\nlet b = 2\n',
      structuredPatch: [
        {
          oldStart: 1,
          oldLines: 2,
          newStart: 1,
          newLines: 2,
          lines: [' let a = 1', '-let b = 2', '+let b = 3'],
        },
      ],
      userModified: false,
      replaceAll: false,
    },
    files: [{ path, hash: hashOf(Buffer.from('let a = 1\nlet b = 3\n')) }],
  })
})

it('replaces every place when told to', async () => {
  const { content } = await edit('x x x', 'x', 'y', { replace_all: true })
  expect(content).toMatch(/: 3 replacements\.$/)
  expect(await bench.get('a.ts')).toBe('y y y')
})

it('takes the new text as it is, also what looks like a pattern', async () => {
  await edit('cost: (a+b)*', '(a+b)*', "$& $1 $' \\1")
  expect(await bench.get('a.ts')).toBe("cost: $& $1 $' \\1")
})

it('leaves the original out of the transcript when it is large', async () => {
  const { structured } = await edit(`${'x\n'.repeat(20_000)}end`, 'end', 'END')
  expect(structured).not.toHaveProperty('originalFile')
  expect(structured).toHaveProperty('structuredPatch.0.lines')
})

it.each<[string, (line: number) => string]>([
  ['lines that differ', (line) => `x ${line}`],
  ['lines that are the same', () => 'x'],
  ['few lines between many', (line) => (line % 30 === 0 ? `x ${line}` : `- ${line}`)],
])('leaves the patch out when it would take long: %s', async (_, lineOf) => {
  const content = Array.from({ length: 60_000 }, (_, line) => lineOf(line)).join('\n')
  const before = performance.now()
  const { isError, structured } = await edit(content, 'x', 'yy', { replace_all: true })
  expect(isError).toBeUndefined()
  expect(structured).toMatchObject({ structuredPatch: [] })
  expect(performance.now() - before).toBeLessThan(1500)
})

it('creates a file from an empty old text', async () => {
  const output = await bench.call(editTool, { file_path: 'new.ts', old_string: '', new_string: 'x\n' })
  expect(output.isError).toBeUndefined()
  expect(await bench.get('new.ts')).toBe('x\n')
})

describe('line ends', () => {
  it.each<[string, string, string, string, string]>([
    ['CRLF matches LF and stays CRLF', 'a\r\nb\r\nc\r\n', 'a\nb', 'x\ny', 'x\r\ny\r\nc\r\n'],
    ['one line of CRLF made two', 'a\r\nb\r\n', 'b', 'b\nc', 'a\r\nb\r\nc\r\n'],
    ['an explicit CRLF', 'a\r\nb\r\n', 'a\r\nb', 'c', 'c\r\n'],
    ['a mixed file changes only where it is told to', 'a\r\nb\nc\r\n', 'b\nc', 'x', 'a\r\nx\r\n'],
    ['LF stays LF', 'a\nb\n', 'a\nb', 'x\ny', 'x\ny\n'],
    ['a byte order mark stays', '\uFEFFa\n', 'a', 'b', '\uFEFFb\n'],
  ])('%s', async (_, before, old, text, after) => {
    expect((await edit(before, old, text)).isError).toBeUndefined()
    expect(await bench.get('a.ts')).toBe(after)
  })
})

describe('what cannot be done is said so that it can be put right', () => {
  it.each<[string, string | Buffer, string, string, RegExp]>([
    ['no match', 'one\n', 'two', 'x', /does not stand in .*a\.ts\. Read the file again/],
    [
      'white space only',
      'if (a) {\n\treturn\n}\n',
      'if (a) {\n  return\n}',
      'x',
      /Line 1 begins a text that differs only in white space/,
    ],
    [
      'line numbers of Read',
      'one\ntwo\n',
      '     1\tone\n     2\ttwo',
      'x',
      /Leave out the line numbers and tabs/,
    ],
    [
      'several matches',
      'x\ny\nx\n',
      'x',
      'z',
      /stands 2 times in .* \(lines 1, 3\)\. Add lines around it until it is unique, or set replace_all/,
    ],
    ['very many matches', 'x\n'.repeat(50), 'x', 'z', /stands 50 times in .*lines 1, 2,.* 10, …\)/],
    ['nothing to change', 'x', 'x', 'x', /are the same/],
    ['an empty old text', 'x', '', 'y', /old_string is empty, but .*a\.ts is not/],
    ['no UTF-8', Buffer.from([0x61, 0xe4, 0x62]), 'a', 'x', /is not UTF-8 text/],
  ])('%s', async (_, content, old, text, message) => {
    const output = await edit(content, old, text)
    expect(output.isError).toBe(true)
    expect(output.content).toMatch(message)
    expect(await bench.get('a.ts')).toBe(content.toString())
  })

  it.each<[string, string, RegExp]>([
    ['a file that was not read', 'unread.ts', /exists and you have not read it/],
    ['a missing file with a near name', 'unred.ts', /does not exist\. Did you mean .*unread\.ts\?/],
    ['a missing file', 'something-else.ts', /does not exist\. Use Write to create it/],
    ['a folder', '.', /is a folder, not a file/],
  ])('%s', async (_, file_path, message) => {
    await bench.put('unread.ts', 'x')
    const output = await bench.call(editTool, { file_path, old_string: 'x', new_string: 'y' })
    expect(output.isError).toBe(true)
    expect(output.content).toMatch(message)
  })
})

describe('a repeat after a crash', () => {
  it.each<[string, string, string, boolean]>([
    ['had done its work: not a second time', 'b b', 'b b', false],
    ['had not: it is done now', 'a b', 'b b', false],
    ['found another content', 'c b', 'c b', true],
  ])('%s', async (_, now, afterwards, isError) => {
    const path = await bench.put('a.ts', now)
    const intend = async () => ({
      path,
      before: hashOf(Buffer.from('a b')),
      after: hashOf(Buffer.from('b b')),
    })
    const input = { file_path: 'a.ts', old_string: 'a', new_string: 'b' }
    const output = await bench.call({ ...editTool, intend }, input, { isRepeat: true })
    expect(output.isError ?? false).toBe(isError)
    expect(await bench.get('a.ts')).toBe(afterwards)
  })
})

it('replacing what was found by itself gives the file back, whatever its line ends', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', '.', '$', '\n', '\r\n'), { maxLength: 30 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, text, (file, wanted) => {
      for (const match of findMatches(file, wanted)) {
        const found = file.slice(match.start, match.end)
        expect(found.replaceAll('\r\n', '\n')).toBe(wanted.replaceAll('\r\n', '\n'))
      }
      const usesOneEnd = !/(^|[^\r])\n/.test(file) || !file.includes('\r\n')
      if (usesOneEnd) expect(replaceMatches(file, findMatches(file, wanted), wanted)).toBe(file)
    }),
    { numRuns: 300 },
  )
})
