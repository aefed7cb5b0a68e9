import { execFileSync } from 'node:child_process'
import { chmod, mkdir, symlink, utimes } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/effects/clock.ts'
import { type GlobInput, globTool } from '../../../src/effects/tools/glob.ts'
import { type GrepInput, grepTool } from '../../../src/effects/tools/grep.ts'
import { parseGrepLines, showGrepLine } from '../../../src/effects/tools/grep-output.ts'
import { readErrors, unreadableNote } from '../../../src/effects/tools/ripgrep.ts'
import type { ToolOutput } from '../../../src/effects/tools/tool.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

const NOBODY = 65_534
/** A user who may not read everything: ourselves, or nobody when we are root. Undefined: nobody cannot run ripgrep here. */
const someoneElse = whoMayNotReadEverything()

function whoMayNotReadEverything(): number | undefined {
  const me = process.getuid?.()
  if (me !== 0) return me
  try {
    execFileSync(rgPath, ['--version'], { uid: NOBODY, gid: NOBODY, cwd: '/', stdio: 'ignore' })
    return NOBODY
  } catch {
    return undefined
  }
}

/** Runs a body, and what it starts, with another user's rights. */
async function asSomeoneElse(body: () => Promise<ToolOutput>): Promise<ToolOutput> {
  if (someoneElse === undefined || process.getuid?.() !== 0) return body()
  process.seteuid?.(someoneElse)
  try {
    return await body()
  } finally {
    process.seteuid?.(0)
  }
}

let bench: Workbench
beforeAll(async () => {
  bench = await createWorkbench()
  const files: Readonly<Record<string, string>> = {
    'README.md': '# needle\nneedle again\n',
    'src/a.ts': 'before\nconst needle = 1\nafter\n',
    'src/deep/b.js': 'NEEDLE\n',
    'src/with:colon.ts': 'x needle: y\n',
    'src/crlf.txt': 'crlf needle\r\n',
    '.hidden/c.ts': 'needle\n',
    '.git/config': 'needle\n',
  }
  const start = Date.UTC(2030, 0, 1) / 1000
  let age = 0
  for (const [path, content] of Object.entries(files)) {
    const time = start - age++ * 60
    await utimes(await bench.put(path, content), time, time)
  }
})
afterAll(() => bench.dispose())

/** A clock on which something happens as soon as a timer is set. */
const whenTimerIsSet = (happen: (callback: () => void) => void): Clock => ({
  now: () => 0,
  setTimer: (_, callback) => {
    happen(callback)
    return () => {}
  },
})

const grep = (input: GrepInput) => bench.call(grepTool, input)
const glob = (input: GlobInput) => bench.call(globTool, input)

describe('Grep', () => {
  it('shows lines as path:line:text, in the order of paths, relative to the working directory', async () => {
    expect(await grep({ pattern: 'needle', output_mode: 'content' })).toEqual({
      content: [
        '.hidden/c.ts:1:needle',
        'README.md:1:# needle',
        'README.md:2:needle again',
        'src/a.ts:2:const needle = 1',
        'src/crlf.txt:1:crlf needle',
        'src/with:colon.ts:1:x needle: y',
      ].join('\n'),
      structured: expect.objectContaining({ mode: 'content', numFiles: 5, numLines: 6 }),
    })
  })

  it('names files by default', async () => {
    expect(await grep({ pattern: 'needle', path: 'src' })).toEqual({
      content: 'Found 3 files\nsrc/a.ts\nsrc/crlf.txt\nsrc/with:colon.ts',
      structured: {
        mode: 'files_with_matches',
        filenames: ['src/a.ts', 'src/crlf.txt', 'src/with:colon.ts'],
        numFiles: 3,
      },
    })
  })

  it('counts', async () => {
    expect(await grep({ pattern: 'needle', output_mode: 'count', glob: '*.md' })).toMatchObject({
      content: 'Found 2 matching lines in 1 file\nREADME.md:2',
      structured: { numMatches: 2, numFiles: 1 },
    })
  })

  it.each<[string, Omit<GrepInput, 'pattern' | 'output_mode'>, string]>([
    [
      'context before and after',
      { '-B': 1, '-A': 1 },
      'src/a.ts-1-before\nsrc/a.ts:2:const needle = 1\nsrc/a.ts-3-after',
    ],
    [
      'context on both sides',
      { '-C': 1 },
      'src/a.ts-1-before\nsrc/a.ts:2:const needle = 1\nsrc/a.ts-3-after',
    ],
    ['no line numbers', { '-n': false }, 'src/a.ts:const needle = 1'],
  ])('shows %s', async (_, more, content) => {
    expect(
      (await grep({ pattern: 'needle', output_mode: 'content', path: 'src/a.ts', ...more })).content,
    ).toBe(content)
  })

  it.each<[string, Omit<GrepInput, 'output_mode'>, string]>([
    ['case', { pattern: 'needle', '-i': true, glob: '*.js' }, 'src/deep/b.js:1:NEEDLE'],
    ['file type', { pattern: 'needle', type: 'md', head_limit: 1 }, 'README.md:1:# needle'],
    [
      'several globs',
      { pattern: 'again|colon|y$', glob: '*.{md,txt} src/w*' },
      'README.md:2:needle again\nsrc/with:colon.ts:1:x needle: y',
    ],
    ['a pattern that looks like a flag', { pattern: '--version' }, 'No matches found'],
    [
      'lines that span',
      { pattern: 'before.*after', multiline: true },
      'src/a.ts:1:before\nsrc/a.ts:2:const needle = 1\nsrc/a.ts:3:after',
    ],
    ['one file', { pattern: 'needle', path: 'README.md', head_limit: 1 }, 'README.md:1:# needle'],
  ])('minds %s', async (_, input, content) => {
    expect((await grep({ output_mode: 'content', ...input })).content).toBe(content)
  })

  it('names files outside of the working directory in full', async () => {
    const path = await bench.put('../outside/o.txt', 'needle')
    expect((await grep({ pattern: 'needle', path: '../outside', output_mode: 'content' })).content).toBe(
      `${path}:1:needle`,
    )
  })

  it('cuts long lines and long results, and says so', async () => {
    await bench.put('many/long.txt', `${'y'.repeat(3000)}\n`.repeat(200))
    const { content } = await grep({ pattern: 'y', path: 'many', output_mode: 'content' })
    expect(String(content).length).toBeLessThan(41_000)
    expect(content).toMatch(
      /… \[cut, 3000 characters]\n\[\d+ more lines not shown\. Make the search narrower\.]$/,
    )
  })

  it.each<[string, GrepInput, RegExp]>([
    ['a bad expression', { pattern: 'a(b' }, /not a valid regular expression[\s\S]*unclosed group/],
    ['a line end without multiline', { pattern: 'a\nb' }, /Set multiline/],
    ['a missing path', { pattern: 'a', path: 'scr' }, /scr does not exist\. Did you mean .*src\?/],
    ['an unknown type', { pattern: 'a', type: 'klingon' }, /unrecognized file type: klingon/],
    ['a bad glob', { pattern: 'a', glob: '[' }, /could not be done: .*glob/],
    ['the kernel', { pattern: 'a', path: '/proc/self' }, /belongs to the kernel/],
  ])('refuses %s in words that help', async (_, input, message) => {
    const output = await grep(input)
    expect(output.isError).toBe(true)
    expect(output.content).toMatch(message)
  })

  it('is ended by an interrupt, before it has begun and while it runs', async () => {
    const interrupted = { content: 'Interrupted. The search was ended.', isError: true }
    const early = await bench.call(grepTool, { pattern: 'x' }, { signal: AbortSignal.abort() })
    expect(early).toEqual(interrupted)
    const abort = new AbortController()
    // The time limit is set when ripgrep runs: the moment to interrupt it.
    const clock = whenTimerIsSet(() => abort.abort())
    expect(await bench.call(grepTool, { pattern: 'x' }, { clock, signal: abort.signal })).toEqual(interrupted)
  })

  it('is ended at its time limit, and says that there may be more', async () => {
    const clock = whenTimerIsSet((timeIsUp) => timeIsUp())
    const { content } = await bench.call(grepTool, { pattern: 'x' }, { clock })
    expect(content).toMatch(/\[Ended after 20 s; there may be more\. Search in a smaller folder\.]$/)
  })

  it('leaves out a last line that was cut in the middle', () => {
    const lines = parseGrepLines({ text: './a\x001:whole\n./a\x002:ha', cut: 'size' }, 'content')
    expect(lines.map((line) => showGrepLine(line, 'content', true))).toEqual(['a:1:whole'])
  })
})

it.each<[string, Omit<GrepInput, 'pattern'>, string]>([
  ['from the folder that is searched', { path: 'src', glob: 'deep/*.js' }, 'src/deep/b.js'],
  ['also with that folder before it', { path: 'src', glob: 'src/deep/*.js' }, 'src/deep/b.js'],
  [
    'also excluding with it',
    { path: 'src', glob: '!src/deep/**' },
    'src/a.ts\nsrc/crlf.txt\nsrc/with:colon.ts',
  ],
  ['in every folder without a slash', { glob: 'b.js' }, 'src/deep/b.js'],
])('globs of Grep count %s', async (_, input, files) => {
  const { content } = await grep({ pattern: 'needle', '-i': true, ...input })
  expect(String(content).split('\n').slice(1).join('\n')).toBe(files)
})

it('tells of a binary file that it matches, under its name', async () => {
  await bench.put('bin/x', 'needle \0 needle\n')
  const input = { pattern: 'needle', path: 'bin/x', output_mode: 'content' } as const
  expect((await grep(input)).content).toMatch(
    /^bin\/x:binary file matches \(found "\\0" byte around offset 7\)$/,
  )
  const { content } = await bench.call(grepTool, input, { mayRead: () => false })
  expect(content).toBe('No matches found\n[1 file left out by permissions.]')
})

describe('what cannot be read', () => {
  it.each<[string, readonly string[], string]>([
    ['rg: ./a: Permission denied (os error 13)\n', ['a'], ''],
    ['rg: ./a: IO error for operation on ./a: Permission denied (os error 13)\n', ['a'], ''],
    ['rg: ./a: b: Permission denied (os error 13)\n', ['a: b'], ''],
    ['rg: ./a: Permission denied (os error 13)\nrg: ./a: Permission denied (os error 13)\n', ['a'], ''],
    ['rg: ./line\nend: Input/output error (os error 5)\n', ['line\nend'], ''],
    ['rg: ./gone: No such file or directory (os error 2)\n', [], ''],
    [
      'rg: regex parse error:\n  (\nerror: unclosed group\n',
      [],
      'regex parse error:\n  (\nerror: unclosed group',
    ],
    ['', [], ''],
  ])('is read from %j', (errors, unreadable, others) => {
    expect(readErrors(errors)).toEqual({ unreadable, others })
  })

  it('is noted with its number and the first names', () => {
    expect(unreadableNote([])).toBeUndefined()
    expect(unreadableNote(['a'])).toBe('[1 folder or file could not be read and may hold more: a]')
    expect(unreadableNote(['a', 'b\n', 'c', 'd'])).toBe(
      '[4 folders or files could not be read and may hold more: a, "b\\n", c, …]',
    )
  })

  it.skipIf(someoneElse === undefined)('is told by Grep and Glob, unless a rule hides it', async () => {
    const closed = await createWorkbench()
    try {
      await closed.put('open/a', 'needle')
      await closed.put('shut/b', 'needle')
      await closed.put('hidden/c', 'needle')
      await chmod(dirname(closed.cwd), 0o755)
      await chmod(join(closed.cwd, 'shut'), 0)
      await chmod(join(closed.cwd, 'hidden'), 0)
      const mayRead = (path: string): boolean => !path.includes('hidden')
      const found = await asSomeoneElse(() => closed.call(grepTool, { pattern: 'needle' }, { mayRead }))
      expect(found.content).toBe(
        'Found 1 file\nopen/a\n[1 folder or file could not be read and may hold more: shut]',
      )
      const named = await asSomeoneElse(() => closed.call(globTool, { pattern: '*' }, { mayRead }))
      expect(named.content).toBe('open/a\n[1 folder or file could not be read and may hold more: shut]')
      const both = await asSomeoneElse(() => closed.call(globTool, { pattern: 'x' }))
      expect(both.content).toMatch(/^No files found\n\[2 folders or files could not be read/)
    } finally {
      await closed.dispose()
    }
  })
})

describe('Glob', () => {
  it('names files, the last modified first', async () => {
    const { content, structured } = await glob({ pattern: '**/*.ts' })
    expect(content).toBe('src/a.ts\nsrc/with:colon.ts\n.hidden/c.ts')
    expect(structured).toEqual({
      filenames: ['src/a.ts', 'src/with:colon.ts', '.hidden/c.ts'],
      numFiles: 3,
      truncated: false,
      durationMs: expect.any(Number),
    })
  })

  it.each<[string, GlobInput, string]>([
    ['a plain name in every folder', { pattern: 'b.js' }, 'src/deep/b.js'],
    ['a pattern from a folder', { pattern: '*.ts', path: 'src' }, 'src/a.ts\nsrc/with:colon.ts'],
    ['a slash as counting from the folder', { pattern: 'src/*.txt' }, 'src/crlf.txt'],
    ['a leading ./', { pattern: './src/*.txt' }, 'src/crlf.txt'],
    ['braces', { pattern: 'src/**/*.{js,txt}' }, 'src/deep/b.js\nsrc/crlf.txt'],
    ['a climb', { pattern: '../src/*.txt', path: 'src' }, 'src/crlf.txt'],
    ['nothing of version control', { pattern: '**/config' }, 'No files found'],
  ])('understands %s', async (_, input, content) => {
    expect((await glob(input)).content).toBe(content)
  })

  it('understands an absolute pattern', async () => {
    expect((await glob({ pattern: `${bench.cwd}/src/**/*.js` })).content).toBe('src/deep/b.js')
    expect((await glob({ pattern: join(bench.cwd, 'src/a.ts') })).content).toBe('src/a.ts')
  })

  it('names at most a hundred and says that there are more', async () => {
    await mkdir(join(bench.cwd, 'crowd'))
    await Promise.all(Array.from({ length: 105 }, (_, n) => bench.put(`crowd/${n}.x`, '')))
    const { content, structured } = await glob({ pattern: 'crowd/*.x' })
    expect(structured).toMatchObject({ numFiles: 100, truncated: true })
    expect(content).toMatch(
      /\n\[Only the 100 files modified last\. Make the pattern narrower to see others\.]$/,
    )
  })

  it.each<[string, GlobInput, RegExp]>([
    ['a file as folder', { pattern: '*', path: 'README.md' }, /is a file\. Give a folder/],
    ['a missing folder', { pattern: '*', path: 'sr' }, /does not exist\. Did you mean .*src\?/],
    ['a negation', { pattern: '!*.ts' }, /cannot begin with "!"/],
    ['a climb after a wildcard', { pattern: '*/../x' }, /Use path/],
    ['a bad pattern', { pattern: '[a' }, /could not be done/],
  ])('refuses %s in words that help', async (_, input, message) => {
    const output = await glob(input)
    expect(output.isError).toBe(true)
    expect(output.content).toMatch(message)
  })
})

describe('the folder that rules for Glob are matched against', () => {
  it.each<[GlobInput, string]>([
    [{ pattern: '**/*.ts' }, '.'],
    [{ pattern: '*.ts', path: 'src' }, 'src'],
    [{ pattern: 'src/*.ts' }, '.'],
    [{ pattern: '/tmp/outside/*' }, '/tmp/outside'],
    [{ pattern: '/tmp/outside/*', path: 'src' }, '/tmp/outside'],
    [{ pattern: '/*' }, '/'],
    [{ pattern: '../outside/*' }, '../outside'],
    [{ pattern: '../../x.ts', path: 'src' }, '..'],
    [{ pattern: 'a/../../outside/x?' }, '../outside'],
    [{ pattern: '~/.*' }, homedir()],
    [{ pattern: '~/.ssh/*' }, join(homedir(), '.ssh')],
    [{ pattern: '*', path: '~/x' }, join(homedir(), 'x')],
    [{ pattern: '!x' }, '.'],
  ])('of %j is %s', (input, folder) => {
    expect(globTool.ruleSubject?.(input)).toBe(folder)
  })
})

describe('files that may not be read', () => {
  let guarded: Workbench
  beforeAll(async () => {
    guarded = await createWorkbench()
    await guarded.put('.env', 'TOPSECRET\nTOPSECRET 2\n')
    await guarded.put('open.txt', 'a TOPSECRET\n\n\n\nb TOPSECRET\n')
    await guarded.put('secrets/deep/key', '1\nTOPSECRET\n2\n')
    await guarded.put('secrets/picture', 'TOPSECRET \0 TOPSECRET\n')
    await guarded.put('z.txt', 'TOPSECRET\n')
    await symlink('.', join(guarded.cwd, 'again'))
  })
  afterAll(() => guarded.dispose())

  const mayRead = (path: string): boolean =>
    path !== join(guarded.cwd, '.env') && !path.startsWith(join(guarded.cwd, 'secrets'))
  const search = (input: Omit<GrepInput, 'pattern'>, pattern = 'TOPSECRET') =>
    guarded.call(grepTool, { pattern, ...input }, { mayRead })

  it.each<[GrepInput['output_mode'], string]>([
    [
      'content',
      'open.txt:1:a TOPSECRET\nopen.txt:5:b TOPSECRET\nz.txt:1:TOPSECRET\n[3 files left out by permissions.]',
    ],
    ['files_with_matches', 'Found 2 files\nopen.txt\nz.txt\n[3 files left out by permissions.]'],
    ['count', 'Found 3 matching lines in 2 files\nopen.txt:2\nz.txt:1\n[3 files left out by permissions.]'],
  ])('are left out of Grep in mode %s', async (output_mode, content) => {
    const output = await search({ output_mode })
    expect(output.content).toBe(content)
    expect(output.structured).toMatchObject({ filenames: ['open.txt', 'z.txt'], numFiles: 2 })
    expect(JSON.stringify(output.structured)).not.toMatch(/env|secrets/)
  })

  it('are left out with the lines around a match and the marks between groups', async () => {
    expect((await search({ output_mode: 'content', '-C': 1 })).content).toBe(
      [
        'open.txt:1:a TOPSECRET',
        'open.txt-2-',
        '--',
        'open.txt-4-',
        'open.txt:5:b TOPSECRET',
        '--',
        'z.txt:1:TOPSECRET',
        '[3 files left out by permissions.]',
      ].join('\n'),
    )
  })

  it('are counted whether they match or not, so that nothing can be guessed from the count', async () => {
    expect((await search({}, 'not there')).content).toBe('No files found\n[3 files left out by permissions.]')
    expect((await search({ glob: '*.txt' }, 'not there')).content).toBe('No files found')
  })

  it('are found out by where a link leads', async () => {
    const { content } = await search({ path: 'again' })
    expect(content).toBe('Found 2 files\nagain/open.txt\nagain/z.txt\n[3 files left out by permissions.]')
  })

  it('are left out of Glob', async () => {
    const list = async (input: GlobInput) =>
      String((await guarded.call(globTool, input, { mayRead })).content)
    expect((await list({ pattern: '**/*' })).split('\n').sort()).toEqual([
      '[3 files left out by permissions.]',
      'open.txt',
      'z.txt',
    ])
    expect(await list({ pattern: 'secrets/*/key' })).toBe('No files found\n[1 file left out by permissions.]')
    expect(await list({ pattern: 'key', path: 'again' })).toBe(
      'No files found\n[1 file left out by permissions.]',
    )
    expect(await list({ pattern: 'z.txt' })).toBe('z.txt')
  })
})
