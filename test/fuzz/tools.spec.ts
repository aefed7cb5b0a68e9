/** The tools over inputs of any kind: they answer or refuse, and touch nothing outside their folder. */
import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { explainNoMatch, findMatches } from '../../src/effects/tools/replace-text.ts'
import type { ToolOutput } from '../../src/effects/tools/tool.ts'
import { createToolTable, standardTools } from '../../src/effects/tools/tool-table.ts'
import { isPublicAddress } from '../../src/effects/tools/web/public-address.ts'
import { webFetchTool } from '../../src/effects/tools/web/web-fetch.ts'
import type { Workbench } from '../effects/tools/workbench.ts'
import { createWorkbench } from '../effects/tools/workbench.ts'
import { expectLinear, fuzz, sizeOf } from './support/fuzz.ts'
import { hostileText, hostileValue, mutatedText } from './support/mutations.ts'

const table = createToolTable(standardTools())
/** Every name leads to this machine, which no page comes from. */
const offline = webFetchTool({ resolve: async () => [{ address: '127.0.0.1', family: 4 }] })

let bench: Workbench
beforeAll(async () => {
  bench = await createWorkbench()
  await bench.put('a.txt', 'one\ntwo\nthree\n')
  await bench.put('crlf.txt', 'one\r\ntwo\r\nthree\r\n')
  await bench.put('src/b.ts', 'export const b = 1\n')
  await bench.put('binary', Buffer.from([0, 1, 2, 255]))
  await bench.put('empty', '')
  symlinkSync(bench.outside, join(bench.cwd, 'way-out'))
  symlinkSync('loop', join(bench.cwd, 'loop'))
  await bench.put('../outside/secret', 'do not touch')
})
afterAll(() => bench.dispose())

/** Everything outside the working directory that a tool might have changed. */
function outsideNow(): string {
  const entries = readdirSync(bench.outside, { recursive: true }).map(String).sort()
  const read = (name: string): string => {
    const path = join(bench.outside, name)
    return lstatSync(path).isFile() ? readFileSync(path, 'utf8') : ''
  }
  return JSON.stringify([readdirSync(join(bench.cwd, '..')), entries.map((name) => [name, read(name)])])
}

const anyPath = fc.oneof(
  fc.constantFrom('a.txt', 'crlf.txt', 'src/b.ts', 'binary', 'empty', 'src', 'new/deep/file', '.', '..'),
  fc.constantFrom(
    'way-out',
    'way-out/secret',
    'way-out/new',
    'loop',
    'loop/x',
    '../outside/secret',
    '../outside/new',
  ),
  fc.constantFrom(
    '/proc/self/mem',
    '/dev/zero',
    '/sys/kernel',
    '/etc/shadow',
    'a.txt/x',
    '/dev/shm/../null',
    'a\0b',
  ),
  mutatedText(fc.constantFrom('src/b.ts', './src/../a.txt', 'way-out/secret')),
  hostileText,
)
const anyText = fc.oneof(fc.constantFrom('one', 'two\n', 'one\ntwo', 'three\r\n', ''), hostileText)
const anyPattern = fc.oneof(
  fc.constantFrom(
    'o.e',
    '(a+)+$',
    '((a*)*)*b',
    '(x{1000}){1000}',
    '\\p{L}{500}',
    '[^',
    '\\',
    '**/*',
    '{a,{b,{c',
    '{'.repeat(2_000),
  ),
  fc.constantFrom(
    ...[
      '{a,b}'.repeat(40),
      '*'.repeat(3_000),
      '../**',
      '/**',
      '~/**',
      '!a',
      '[!-',
      '\0',
      '--files',
      '-e',
      '/*/*/../x',
    ],
  ),
  mutatedText(fc.constantFrom('src/**/*.{ts,js}', '^export (const|function) \\w+')),
  hostileText,
)
const anyCount = fc.constantFrom(0, 1, 2, 2 ** 31, 2 ** 53 - 1)
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })

const anyNotebook = fc.oneof(
  fc.constantFrom(
    '{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}',
    '{"cells":[{"cell_type":"code","metadata":{},"source":["a\\n"],"outputs":[],"execution_count":1}],"nbformat":4}',
    '{\n "cells": [\n  {\n   "id": "x", "id": "y",\n   "cell_type": "raw",\n   "source": "z"\n  }\n ],\n "nbformat": 4\n}\n',
  ),
  mutatedText(
    fc.constantFrom('{"cells": [{"cell_type":"raw","metadata":{"a":[1,"]"]},"source":""}], "nbformat": 4}'),
  ),
  hostileText,
)

interface Call {
  readonly name: string
  readonly input: unknown
}

/** Inputs with the right fields, hostile in what these hold. */
const wellShaped: fc.Arbitrary<Call> = fc.oneof(
  fc.record({
    name: fc.constant('Read'),
    input: fc.record({ file_path: anyPath, offset: optional(anyCount), limit: optional(anyCount) }),
  }),
  fc.record({ name: fc.constant('Write'), input: fc.record({ file_path: anyPath, content: anyText }) }),
  fc.record({
    name: fc.constant('Edit'),
    input: fc.record({
      file_path: anyPath,
      old_string: anyText,
      new_string: anyText,
      replace_all: fc.boolean(),
    }),
  }),
  fc.record({
    name: fc.constant('Glob'),
    input: fc.record({ pattern: anyPattern, path: optional(anyPath) }),
  }),
  fc.record({
    name: fc.constant('Grep'),
    input: fc.record({
      pattern: anyPattern,
      path: optional(anyPath),
      glob: optional(anyPattern),
      type: optional(hostileText),
      output_mode: fc.constantFrom('content', 'count', 'files_with_matches', undefined),
      '-A': optional(anyCount),
      head_limit: optional(anyCount),
      multiline: fc.boolean(),
    }),
  }),
)

/** A search from the very root of the machine is right and takes its time: not here. */
const isBounded = ({ input }: Call): boolean => {
  const { path, pattern } = Object(input)
  return ![path, pattern].some((text) => typeof text === 'string' && /^(~|\/)|\.\./.test(text.trim()))
}

async function run({ name, input }: Call): Promise<ToolOutput | undefined> {
  const parsed = table.parseCall(name, input)
  if (!parsed.ok) {
    expect(parsed.message).not.toBe('')
    return undefined
  }
  const { tool } = parsed
  expect(typeof tool.isReadOnly(parsed.input)).toBe('boolean')
  expect(typeof tool.isConcurrencySafe(parsed.input)).toBe('boolean')
  tool.writes?.(parsed.input)
  tool.ruleSubject?.(parsed.input)
  return bench.call(tool, parsed.input)
}

/** What a model gets must be something that can be sent. */
function expectResult(output: ToolOutput | undefined): void {
  if (output === undefined) return
  expect(typeof output.content === 'string' ? output.content : output.content[0]).toBeTruthy()
  JSON.stringify(output)
}

describe('whatever a model asks a tool for', () => {
  const anyCall = wellShaped.filter(
    (call) => (call.name !== 'Glob' && call.name !== 'Grep') || isBounded(call),
  )
  fuzz('it answers or refuses; what lies outside stays as it was', 250, anyCall, async (call) => {
    const before = outsideNow()
    // What was read may be written: the interesting refusals lie behind that.
    if (call.name === 'Edit' || call.name === 'Write')
      await run({ name: 'Read', input: { file_path: Object(call.input).file_path } })
    expectResult(await run(call))
    expect(outsideNow()).toBe(before)
    expect(existsSync('/tmp/new')).toBe(false)
  })

  const anyCell = fc.record({
    cell_number: optional(fc.constantFrom(0, 1, 2 ** 40)),
    cell_id: optional(fc.constantFrom('x', 'y', '')),
    new_source: optional(anyText),
    cell_type: optional(fc.constantFrom('code', 'markdown', 'raw')),
    edit_mode: optional(fc.constantFrom('replace', 'insert', 'delete')),
  })
  fuzz(
    'a notebook stays a notebook, or is refused',
    200,
    fc.tuple(anyNotebook, anyCell),
    async ([text, cell]) => {
      await bench.put('n.ipynb', text)
      await run({ name: 'Read', input: { file_path: 'n.ipynb' } })
      const output = await run({ name: 'NotebookEdit', input: { notebook_path: 'n.ipynb', ...cell } })
      expectResult(output)
      const now = await bench.get('n.ipynb')
      if (output?.isError === true) expect(Buffer.from(now)).toEqual(Buffer.from(text))
      else expect(Array.isArray(JSON.parse(now).cells)).toBe(true)
    },
  )

  const anyAddress = fc.oneof(
    fc.constantFrom(
      'http://127.0.0.1:1/',
      'https://[::1]/',
      'http://0/',
      'https://localhost.',
      'file:///etc/passwd',
      '//x',
    ),
    mutatedText(fc.constantFrom('https://user:pw@10.0.0.1:80/a?b#c', 'http://169.254.169.254/latest')),
    hostileText,
  )
  fuzz('an address that leads inside is not fetched', 150, anyAddress, async (url) => {
    const parsed = table.parseCall('WebFetch', { url })
    if (!parsed.ok) return
    expect(typeof parsed.tool.ruleSubject?.(parsed.input)).toBe('string')
    // A changed number may be a machine out there.
    if (URL.canParse(url) && isPublicAddress(new URL(url).hostname.replace(/^\[|\]$/g, ''))) return
    const output = await bench.call(offline, { url })
    expect(output.isError).toBe(true)
    expectResult(output)
  })

  const shapeless = fc.tuple(
    fc.oneof(fc.constantFrom(...table.tools.map(({ name }) => name), 'read', 'Task'), hostileText),
    fc.oneof(
      hostileValue,
      fc.dictionary(
        fc.constantFrom(
          'file_path',
          'content',
          'old_string',
          'new_string',
          'pattern',
          'command',
          'timeout',
          'notebook_path',
          'url',
          'todos',
          'questions',
          'plan',
          'bash_id',
          '-A',
          '__proto__',
        ),
        hostileValue,
        { maxKeys: 4 },
      ),
    ),
  )
  fuzz('an input of no shape at all is refused with what is wrong', 500, shapeless, ([name, input]) => {
    const parsed = table.parseCall(name, input)
    if (!parsed.ok) expect(parsed.message.trim()).not.toBe('')
    else expect(typeof parsed.input).toBe('object')
  })

  const anyCommand = fc.constantFrom(
    ...[
      '',
      ' ',
      'a\0b',
      '\ud800',
      'exit 300',
      'kill -9 $$',
      "'",
      '"',
      '$(',
      'cat',
      `: ${'x'.repeat(200_000)}`,
    ],
    ...[
      'printf "\\377\\000\\ud800"',
      'head -c 300000 /dev/zero',
      'exec >&-',
      'yes | head -c 1000000',
      '\n',
      '#',
    ],
  )
  fuzz('a command of any kind ends with a result', 12, anyCommand, async (command) => {
    expectResult(await run({ name: 'Bash', input: { command, timeout: 5_000 } }))
  })
})

describe('a text to replace', () => {
  const lines = (end: fc.Arbitrary<string>) =>
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b', ' a', '', 'é.*'), end), { maxLength: 8 })
      .map((each) => each.flat().join(''))
  const feed = fc.constantFrom('\r\n', '\n')

  fuzz(
    'is found where it stands, whatever the line ends',
    300,
    fc.tuple(lines(feed), lines(feed)),
    ([text, wanted]) => {
      // What it means, in the short form that a long text makes too large.
      const source = wanted
        .split(/\r?\n/)
        .map((line) => line.replace(/[.*]/g, '\\$&'))
        .join(text.includes('\r\n') ? '\\r?\\n' : '\n')
      const isExact = !text.includes('\r\n') && wanted.includes('\r')
      const found = wanted === '' || isExact ? [] : [...text.matchAll(new RegExp(source, 'g'))]
      expect(findMatches(text, wanted)).toEqual(
        found.map(({ 0: match, index }) => ({ start: index, end: index + match.length })),
      )
    },
  )

  fuzz(
    'that differs in white space only is shown where it begins',
    200,
    fc.tuple(lines(feed), lines(feed)),
    ([text, wanted]) => {
      const words = wanted.split(/\s+/).filter((word) => word !== '')
      const source = words.map((word) => word.replace(/[.*]/g, '\\$&')).join('\\s+')
      const index = words.length === 0 ? -1 : text.search(new RegExp(source))
      const line = index < 0 ? undefined : text.slice(0, index).split('\n').length
      if (line === undefined) expect(explainNoMatch(text, wanted)).not.toMatch(/ Line \d/)
      else expect(explainNoMatch(text, wanted)).toContain(` Line ${line} `)
    },
  )
})

describe('globs in one field', () => {
  it('are parted by blanks, and by commas outside of braces however deep', async () => {
    await bench.put('g/x.ts', 'q1')
    await bench.put('g/x.js', 'q1')
    await bench.put('g/x.md', 'q1')
    const found = async (glob: string) =>
      (await run({ name: 'Grep', input: { pattern: 'q1', path: 'g', glob } }))?.content
    expect(await found('*.{ts,{js,py}}')).toBe('Found 2 files\ng/x.js\ng/x.ts')
    expect(await found('*.ts, *.md')).toBe('Found 2 files\ng/x.md\ng/x.ts')
    expect(await found('*.{ts,md')).toMatch(/could not be done|glob/)
  })
})

describe('time for an input', () => {
  const SHAPES = [
    'a',
    '{',
    '}',
    '{a,',
    ',',
    ' ',
    '[',
    '(',
    '\\',
    '*',
    '/',
    '../',
    '\n',
    '\r\n',
    '.',
    '\0',
    '\ud800',
    '1\t',
    'a b ',
  ]
  const repeated = (shape: string, size: number): string => shape.repeat(Math.ceil(size / shape.length))

  it('that names a text to replace grows with its length only', async () => {
    for (const file of ['a.txt', 'crlf.txt']) {
      await expectLinear(sizeOf(20_000, 1_000_000), SHAPES, repeated, async (text) => {
        await run({ name: 'Read', input: { file_path: file } })
        return run({ name: 'Edit', input: { file_path: file, old_string: text, new_string: `${text}!` } })
      })
    }
  })

  it('that names globs grows with their length only', async () => {
    // Above what a program can be started with, so that only our own part is measured: nothing that parts globs.
    const ONE_GLOB = SHAPES.filter((shape) => !/[\s,]/.test(shape) || shape.includes('{'))
    await expectLinear(sizeOf(140_000, 300_000), ONE_GLOB, repeated, async (glob) => {
      // Nothing to search in: refused or empty.
      expectResult(await run({ name: 'Grep', input: { pattern: 'x', path: 'empty', glob } }))
    })
  })

  it('in a file of any shape grows with the length of the file only', async () => {
    for (const ending of ['', '\r\n']) {
      let files = 0
      await expectLinear(
        sizeOf(60_000, 500_000),
        SHAPES,
        (shape, size) => ({ name: `f${files++}`, content: repeated(shape, size) + ending }),
        async ({ name, content }) => {
          await bench.put(name, content)
          await run({ name: 'Read', input: { file_path: name } })
          await run({ name: 'Edit', input: { file_path: name, old_string: 'z  z', new_string: 'q' } })
          return run({
            name: 'Edit',
            input: { file_path: name, old_string: content.slice(0, 40), new_string: '' },
          })
        },
      )
    }
  })
})
