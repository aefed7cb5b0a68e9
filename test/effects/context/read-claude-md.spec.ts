import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { byteLength } from '../../../src/definitions/context/text.ts'
import { renderContext } from '../../../src/definitions/context/user-context.ts'
import { type ClaudeMdReading, readClaudeMd } from '../../../src/effects/context/read-claude-md.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

type Files = Readonly<Record<string, string | Buffer>>

/** A home and a repository side by side, with these files: paths start from the folder that holds both. */
function world(files: Files): {
  readonly at: (path: string) => string
  readonly read: (cwd?: string, stopAt?: string) => Promise<ClaudeMdReading>
} {
  const base = temporaryFolder()
  const at = (path: string): string => join(base, path)
  for (const folder of ['home', 'repo']) mkdirSync(at(folder))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(at(path)), { recursive: true })
    writeFileSync(at(path), content)
  }
  return {
    at,
    read: (cwd = 'repo', stopAt = 'repo') =>
      readClaudeMd({ cwd: at(cwd), home: at('home'), stopAt: at(stopAt) }),
  }
}

/** Paths as `world` takes them, with their texts. */
function given({ files }: ClaudeMdReading, at: (path: string) => string): readonly string[] {
  return files.map(({ path, scope, text }) => `${path.slice(at('x').length - 1)} ${scope}: ${text.trim()}`)
}
const problems = ({ diagnostics }: ClaudeMdReading): readonly string[] =>
  diagnostics.map(({ code, line }) => (line === undefined ? code : `${code} ${line}`))

describe('the files that hold for a folder', () => {
  it("are the user's, then the project's from its root down", async () => {
    const { at, read } = world({
      'home/.claude/CLAUDE.md': 'user',
      'repo/CLAUDE.md': '\ufeffroot\r\nmore\r\n',
      'repo/.claude/CLAUDE.md': 'dot',
      'repo/CLAUDE.local.md': 'mine',
      'repo/pkg/CLAUDE.md': 'package',
      'repo/pkg/deep/CLAUDE.local.md': 'deep',
      'repo/other/CLAUDE.md': 'not on the way',
      'CLAUDE.md': 'above the repository',
    })
    const reading = await read('repo/pkg/deep')
    expect(given(reading, at)).toEqual([
      'home/.claude/CLAUDE.md user: user',
      'repo/CLAUDE.md project: root\nmore',
      'repo/.claude/CLAUDE.md project: dot',
      'repo/CLAUDE.local.md local: mine',
      'repo/pkg/CLAUDE.md project: package',
      'repo/pkg/deep/CLAUDE.local.md local: deep',
    ])
    expect(reading.diagnostics).toEqual([])
  })

  it('are those of the folder alone where there is no repository around it', async () => {
    const files = { 'repo/CLAUDE.md': 'root', 'repo/pkg/CLAUDE.md': 'package' }
    const { at, read } = world(files)
    expect(given(await read('repo/pkg', 'home'), at)).toEqual(['repo/pkg/CLAUDE.md project: package'])
    const reading = await readClaudeMd({ cwd: at('repo/pkg'), home: at('home') })
    expect(given(reading, at)).toEqual(['repo/pkg/CLAUDE.md project: package'])
  })

  it('count once when two names lead to one file', async () => {
    const { at, read } = world({ 'repo/AGENTS.md': 'agents' })
    symlinkSync('AGENTS.md', at('repo/CLAUDE.md'))
    symlinkSync('AGENTS.md', at('repo/CLAUDE.local.md'))
    expect(given(await read(), at)).toEqual(['repo/CLAUDE.md project: agents'])
  })

  it('come from another settings folder when that is given', async () => {
    const { at } = world({ 'home/.claude/CLAUDE.md': 'no', 'config/CLAUDE.md': 'yes' })
    const reading = await readClaudeMd({ cwd: at('repo'), home: at('home'), configDir: at('config') })
    expect(given(reading, at)).toEqual(['config/CLAUDE.md user: yes'])
  })

  it('give the same bytes every time', async () => {
    const { read } = world({ 'repo/CLAUDE.md': '@a.md @b.md', 'repo/a.md': 'A', 'repo/b.md': 'B' })
    const texts = await Promise.all([read(), read(), read()])
    expect(new Set(texts.map(({ files }) => renderContext({ claudeMd: files }))).size).toBe(1)
  })

  it('may be none, in folders that do not exist', async () => {
    const { at } = world({})
    const reading = await readClaudeMd({ cwd: at('gone/deep'), home: at('nobody'), stopAt: at('gone') })
    expect(reading).toEqual({ files: [], diagnostics: [] })
  })
})

describe('an import', () => {
  it('follows its file, is relative to it, and may import in turn', async () => {
    const { at, read } = world({
      'repo/CLAUDE.md': 'See @docs/a.md and @c.md.',
      'repo/docs/a.md': '@b.md @../c.md `@never.md`',
      'repo/docs/b.md': 'B',
      'repo/c.md': 'C',
    })
    const reading = await read()
    expect(reading.files.map(({ path }) => path.slice(at('repo/').length))).toEqual([
      'CLAUDE.md',
      'docs/a.md',
      'docs/b.md',
      'c.md',
    ])
    expect(reading.files[2]?.importedBy).toBe(at('repo/docs/a.md'))
    expect(reading.diagnostics).toEqual([])
  })

  it('that is not there is told when it is surely a path', async () => {
    const { read } = world({ 'repo/CLAUDE.md': 'ask @someone about @scope/package\n@gone.md\n@./dir' })
    const reading = await read()
    expect(problems(reading)).toEqual(['claude-md-import-missing 2', 'claude-md-import-missing 3'])
    expect(reading.diagnostics[0]).toMatchObject({ severity: 'warning' })
  })

  it('of a folder is told when it is surely a path', async () => {
    const { at, read } = world({ 'repo/CLAUDE.md': '@docs @./docs' })
    mkdirSync(at('repo/docs'))
    expect(problems(await read())).toEqual(['claude-md-unreadable'])
  })

  it('in a cycle is told, and all files are read once', async () => {
    const { at, read } = world({
      'repo/CLAUDE.md': '@a.md @CLAUDE.md',
      'repo/a.md': '\n@b.md',
      'repo/b.md': '@a.md @CLAUDE.md',
    })
    const reading = await read()
    expect(reading.files).toHaveLength(3)
    expect(problems(reading)).toEqual([
      'claude-md-import-cycle 1',
      'claude-md-import-cycle 1',
      'claude-md-import-cycle 1',
    ])
    expect(new Set(reading.diagnostics.map(({ file }) => file))).toEqual(
      new Set([at('repo/CLAUDE.md'), at('repo/b.md')]),
    )
  })

  it('goes five files deep and no further', async () => {
    const chain = Array.from({ length: 7 }, (_, i) => [`repo/${i}.md`, `@${i + 1}.md`] as const)
    const { at, read } = world({ 'repo/CLAUDE.md': '@1.md', ...Object.fromEntries(chain) })
    const reading = await read()
    expect(reading.files.map(({ path }) => path.slice(at('repo/').length))).toEqual([
      'CLAUDE.md',
      ...['1.md', '2.md', '3.md', '4.md', '5.md'],
    ])
    expect(problems(reading)).toEqual(['claude-md-import-too-deep 1'])
  })

  it("of the user's file may lie anywhere, also under the home folder", async () => {
    const { at, read } = world({
      'home/.claude/CLAUDE.md': '@~/notes.md @./rules.md',
      'home/notes.md': 'notes',
      'home/.claude/rules.md': '@../../outside.md',
      'outside.md': 'outside',
    })
    const reading = await read()
    expect(given(reading, at).slice(1)).toEqual([
      'home/notes.md user: notes',
      'home/.claude/rules.md user: @../../outside.md',
      'outside.md user: outside',
    ])
    expect(reading.diagnostics).toEqual([])
  })
})

describe('a hostile repository', () => {
  const SECRET = { 'home/.ssh/id_rsa': 'SECRET', 'home/.claude/CLAUDE.md': 'mine' }
  const expectNothingLeaks = (reading: ClaudeMdReading): void => {
    expect(JSON.stringify(reading.files)).not.toMatch(/SECRET|root:/)
  }

  it.each([
    '@~/.ssh/id_rsa',
    '@/etc/passwd',
    '@../home/.ssh/id_rsa',
    '@a/../../home/.ssh/id_rsa',
    '@../gone',
  ])('cannot have %s read, by its name alone', async (mention) => {
    const { read } = world({ ...SECRET, 'repo/CLAUDE.md': `\n${mention}` })
    const reading = await read()
    expectNothingLeaks(reading)
    expect(problems(reading)).toEqual(['claude-md-outside 2'])
    expect(reading.diagnostics[0]).toMatchObject({ severity: 'error' })
  })

  it.each([
    ['a link to a file', 'notes.md', '../home/.ssh/id_rsa', '@notes.md'],
    ['a link to a folder', 'docs', '../home/.ssh', '@docs/id_rsa'],
    ['an absolute link', 'notes.md', '/etc/passwd', '@notes.md'],
  ])('cannot have a file read through %s', async (_, link, target, mention) => {
    const { at, read } = world({ ...SECRET, 'repo/CLAUDE.md': mention })
    symlinkSync(target, at(`repo/${link}`))
    const reading = await read()
    expectNothingLeaks(reading)
    expect(problems(reading)).toEqual(['claude-md-outside'])
  })

  it.each(['CLAUDE.md', 'CLAUDE.local.md'])('cannot have a file read as its %s', async (name) => {
    const { at, read } = world(SECRET)
    symlinkSync('../home/.ssh/id_rsa', at(`repo/${name}`))
    const reading = await read()
    expectNothingLeaks(reading)
    expect(problems(reading)).toEqual(['claude-md-outside'])
  })

  it('cannot have a settings folder of another read as its own', async () => {
    const { at, read } = world({ ...SECRET, 'home/other/CLAUDE.md': 'SECRET' })
    symlinkSync('../home/other', at('repo/.claude'))
    const reading = await read()
    expectNothingLeaks(reading)
    expect(problems(reading)).toEqual(['claude-md-outside'])
  })

  it("gains nothing by being imported from the user's own file", async () => {
    const { at, read } = world({
      ...SECRET,
      'home/.claude/CLAUDE.md': '@~/../repo/docs/a.md',
      'repo/docs/a.md': '@b.md @~/.ssh/id_rsa',
      'repo/docs/b.md': '@/etc/passwd',
    })
    const reading = await read()
    expectNothingLeaks(reading)
    expect(given(reading, at)).toHaveLength(3)
    expect(problems(reading)).toEqual(['claude-md-outside 1', 'claude-md-outside 1'])
  })

  it('inside a repository that is the whole home folder has only its own folder', async () => {
    const { at } = world({
      ...SECRET,
      'home/down/load/CLAUDE.md': '@a.md @../../.ssh/id_rsa',
      'home/down/load/a.md': 'A',
    })
    const reading = await readClaudeMd({ cwd: at('home/down/load'), home: at('home'), stopAt: at('home') })
    expectNothingLeaks(reading)
    expect(given(reading, at)).toEqual([
      'home/.claude/CLAUDE.md user: mine',
      'home/down/load/CLAUDE.md project: @a.md @../../.ssh/id_rsa',
      'home/down/load/a.md project: A',
    ])
    expect(problems(reading)).toEqual(['claude-md-outside 1'])
  })

  it.skipIf(process.platform === 'win32')('cannot make the reader wait or read for ever', async () => {
    const { at, read } = world({ 'repo/.claude/x': '', 'repo/CLAUDE.local.md': '@pipe.md @loop.md @gone.md' })
    execFileSync('mkfifo', [at('repo/CLAUDE.md'), at('repo/pipe.md')])
    symlinkSync('/dev/zero', at('repo/.claude/CLAUDE.md'))
    symlinkSync('loop.md', at('repo/loop.md'))
    symlinkSync('nowhere', at('repo/gone.md'))
    const reading = await read()
    expect(reading.files).toHaveLength(1)
    expect(problems(reading)).toEqual(Array.from({ length: 5 }, () => 'claude-md-unreadable'))
  })

  it('cannot have binary files sent', async () => {
    const { read } = world({
      'repo/CLAUDE.md': '@logo.png @old.md',
      'repo/logo.png': Buffer.from([0x89, 0x50, 0, 1]),
      'repo/old.md': Buffer.from('\ufeffutf-16', 'utf16le'),
    })
    expect(problems(await read())).toEqual(['claude-md-unreadable', 'claude-md-unreadable'])
  })
})

describe('the bounds', () => {
  it('cut a large file on a character, with a marker, and follow no import behind the cut', async () => {
    const { at, read } = world({
      'repo/CLAUDE.md': `${'é'.repeat(40_000)}\n@a.md`,
      'repo/a.md': 'A',
    })
    const reading = await read()
    const text = reading.files[0]?.text ?? ''
    expect(byteLength(text)).toBeLessThanOrEqual(40 * 1024)
    expect(text).toMatch(/^é+\n\n\[Cut here: the file has 80006 bytes\. /)
    expect(text).toContain(at('repo/CLAUDE.md'))
    expect(reading.files).toHaveLength(1)
    expect(problems(reading)).toEqual(['claude-md-cut'])
  })

  it('hold for bytes that are no text and grow when they are read', async () => {
    const { read } = world({ 'repo/CLAUDE.md': Buffer.alloc(30 * 1024, 0xff) })
    const reading = await read()
    expect(byteLength(reading.files[0]?.text ?? '')).toBeLessThanOrEqual(40 * 1024)
    expect(problems(reading)).toEqual(['claude-md-cut'])
  })

  it('keep a file of exactly the size whole', async () => {
    const { read } = world({ 'repo/CLAUDE.md': 'x'.repeat(40 * 1024) })
    const reading = await read()
    expect(reading.files[0]?.text).toBe('x'.repeat(40 * 1024))
    expect(reading.diagnostics).toEqual([])
  })

  it('hold for all files together, and what is left out is told', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `${i}.md`)
    const { read } = world({
      'repo/CLAUDE.md': names.map((name) => `@${name}`).join('\n'),
      ...Object.fromEntries(names.map((name) => [`repo/${name}`, 'x'.repeat(38 * 1024)])),
    })
    const reading = await read()
    expect(reading.files.reduce((sum, { text }) => sum + byteLength(text), 0)).toBeLessThanOrEqual(200 * 1024)
    expect(problems(reading)).toEqual(['claude-md-cut', 'claude-md-left-out', 'claude-md-left-out'])
  })

  it('hold for the number of files and of imports', async () => {
    const many = Array.from({ length: 1500 }, (_, i) => `@x/${i}`).join('\n')
    const empty = Array.from({ length: 150 }, (_, i) => `f${i}.md`)
    const { at, read } = world({
      'repo/CLAUDE.md': `${empty.map((name) => `@${name}`).join('\n')}\n@${many}`,
      ...Object.fromEntries(empty.map((name) => [`repo/${name}`, ''])),
    })
    const reading = await read()
    expect(reading.files).toHaveLength(100)
    expect(reading.diagnostics.filter(({ file }) => file === at('repo/CLAUDE.md'))).toMatchObject([
      { code: 'claude-md-left-out', message: expect.stringContaining('at most 1000 are looked at') },
    ])
    expect(reading.diagnostics).toHaveLength(52)
  })
})
