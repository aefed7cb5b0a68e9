/** What an attacker who shares the file system tries: paths that are not what they were, or not what they seem. */
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { chown, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { bashTool } from '../../../src/effects/tools/bash.ts'
import { placePath } from '../../../src/effects/tools/confinement.ts'
import { editTool } from '../../../src/effects/tools/edit.ts'
import { globTool } from '../../../src/effects/tools/glob.ts'
import { grepTool } from '../../../src/effects/tools/grep.ts'
import { notebookEditTool } from '../../../src/effects/tools/notebook-edit.ts'
import { printable } from '../../../src/effects/tools/printable.ts'
import { readTool } from '../../../src/effects/tools/read.ts'
import { createSeenFiles } from '../../../src/effects/tools/seen-files.ts'
import type { Tool, ToolOutput } from '../../../src/effects/tools/tool.ts'
import { writeTool } from '../../../src/effects/tools/write.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

/** What happens just before the first `open` of a path: between the check of a path and its use. */
const race = vi.hoisted(() => ({ beforeOpen: undefined as ((path: string) => void) | undefined }))
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>()
  const open: typeof real.open = (path, ...rest) => {
    const happen = race.beforeOpen
    race.beforeOpen = undefined
    happen?.(String(path))
    return real.open(path, ...rest)
  }
  return { ...real, open }
})

const SECRET = 'the secret outside'
const CELL = { cell_type: 'code', metadata: {}, source: [], outputs: [], execution_count: null }
const NOTEBOOK = JSON.stringify({ cells: [CELL], metadata: {}, nbformat: 4, nbformat_minor: 4 })

let bench: Workbench
beforeEach(async () => {
  bench = await createWorkbench()
  await bench.put('src/secret', 'mine')
  await bench.put('src/a.ipynb', NOTEBOOK)
  await writeFile(join(bench.outside, 'secret'), SECRET)
  await writeFile(join(bench.outside, 'a.ipynb'), NOTEBOOK)
})
afterEach(async () => {
  race.beforeOpen = undefined
  await bench.dispose()
})

const outsideNow = async (): Promise<unknown> =>
  Promise.all(
    (await readdir(bench.outside, { recursive: true })).sort().map(async (name) => {
      const path = join(bench.outside, name)
      return (await stat(path)).isFile() ? [name, await readFile(path, 'utf8')] : name
    }),
  )

/** Any tool with its input: what they have in common is the path. */
const calls = {
  Read: () => bench.call(readTool, { file_path: 'src/secret' }),
  'Grep in a file': () => bench.call(grepTool, { pattern: '.', path: 'src/secret', output_mode: 'content' }),
  'Grep in a folder': () => bench.call(grepTool, { pattern: '.', path: 'src', output_mode: 'content' }),
  Glob: () => bench.call(globTool, { pattern: '*', path: 'src' }),
  Edit: () => bench.call(editTool, { file_path: 'src/secret', old_string: 'mine', new_string: 'x' }),
  Write: () => bench.call(writeTool, { file_path: 'src/secret', content: 'x' }),
  'Write of a new file': () => bench.call(writeTool, { file_path: 'src/new/deep/file', content: 'x' }),
  NotebookEdit: () =>
    bench.call(notebookEditTool, { notebook_path: 'src/a.ipynb', cell_number: 0, new_source: 'x' }),
} satisfies Record<string, () => Promise<ToolOutput>>

const swapFolder = (): void => {
  renameSync(join(bench.cwd, 'src'), join(bench.cwd, 'moved'))
  symlinkSync(bench.outside, join(bench.cwd, 'src'))
}
const swapFile = (): void => {
  for (const name of ['secret', 'a.ipynb']) {
    rmSync(join(bench.cwd, 'src', name))
    symlinkSync(join(bench.outside, name), join(bench.cwd, 'src', name))
  }
}

describe('a path that is swapped between its check and its use', () => {
  it.each(Object.entries(calls))(
    'gives nothing and changes nothing outside: a folder for a link, %s',
    async (_, call) => {
      await bench.call(readTool, { file_path: 'src/secret' })
      await bench.call(readTool, { file_path: 'src/a.ipynb' })
      const before = await outsideNow()
      race.beforeOpen = swapFolder
      const output = await call()
      expect(race.beforeOpen).toBeUndefined()
      expect(output.isError).toBe(true)
      expect(JSON.stringify(output)).not.toContain(SECRET)
      expect(await outsideNow()).toEqual(before)
    },
  )

  const ofFiles = Object.entries(calls).filter(([name]) => !/folder|Glob|new/.test(name))
  it.each(ofFiles)('gives nothing and changes nothing outside: a file for a link, %s', async (_, call) => {
    await bench.call(readTool, { file_path: 'src/secret' })
    await bench.call(readTool, { file_path: 'src/a.ipynb' })
    const before = await outsideNow()
    race.beforeOpen = swapFile
    const output = await call()
    expect(output.isError).toBe(true)
    expect(JSON.stringify(output)).not.toContain(SECRET)
    expect(await outsideNow()).toEqual(before)
  })

  it('is found out in the middle of making folders', async () => {
    race.beforeOpen = (path) => {
      expect(path).toBe(join(bench.cwd, 'made/by/us'))
      mkdirSync(join(bench.outside, 'by'))
      symlinkSync(bench.outside, join(bench.cwd, 'made'))
    }
    const output = await bench.call(writeTool, { file_path: 'made/by/us/file', content: 'x' })
    expect(output).toMatchObject({ isError: true })
    expect(await readdir(join(bench.outside, 'by'))).toEqual([])
  })

  it('does no harm while it is swapped there and back all the time', async () => {
    await mkdir(join(bench.cwd, 'real'))
    await writeFile(join(bench.cwd, 'real/secret'), 'mine')
    await symlink('real', join(bench.cwd, 'flip'))
    const judged = (await placePath('flip/secret', bench.cwd)).real
    let flips = 0
    const flip = (): void => {
      const spare = join(bench.cwd, 'spare')
      symlinkSync(flips++ % 2 === 0 ? bench.outside : 'real', spare)
      renameSync(spare, join(bench.cwd, 'flip'))
    }
    const timer = setInterval(flip, 0)
    const before = await outsideNow()
    try {
      for (let round = 0; round < 40; round++) {
        const read = await bench.call(readTool, { file_path: 'flip/secret' }, { judged })
        expect(JSON.stringify(read)).not.toContain(SECRET)
        await bench.call(writeTool, { file_path: 'flip/secret', content: `${round}` }, { judged })
      }
    } finally {
      clearInterval(timer)
    }
    expect(flips).toBeGreaterThan(0)
    expect(await outsideNow()).toEqual(before)
  })
})

describe('a path that leads elsewhere than when it was permitted', () => {
  const permitted: readonly (readonly [string, (judged: string) => Promise<ToolOutput>])[] = [
    ['Read', (judged) => bench.call(readTool, { file_path: 'way/secret' }, { judged })],
    ['Grep', (judged) => bench.call(grepTool, { pattern: '.', path: 'way/secret' }, { judged })],
    ['Glob', (judged) => bench.call(globTool, { pattern: '*', path: 'way/secret' }, { judged })],
    ['Write', (judged) => bench.call(writeTool, { file_path: 'way/secret', content: 'x' }, { judged })],
  ]
  it.each(permitted)('is refused: %s', async (_, call) => {
    await symlink('src', join(bench.cwd, 'way'))
    const judged = (await placePath('way/secret', bench.cwd)).real
    rmSync(join(bench.cwd, 'way'))
    symlinkSync(bench.outside, join(bench.cwd, 'way'))
    const output = await call(judged)
    expect(output).toMatchObject({ isError: true })
    expect(output.content).toMatch(
      /led to .*src\/secret when this call was permitted, and leads to .*outside\/secret now/,
    )
  })

  it('may lead there by another name', async () => {
    await symlink('src', join(bench.cwd, 'way'))
    const judged = join(bench.cwd, 'src/secret')
    expect((await bench.call(readTool, { file_path: 'way/secret' }, { judged })).content).toContain('mine')
  })
})

describe('a hard link to a file outside', () => {
  const path = () => join(bench.cwd, 'linked')
  beforeEach(() => link(join(bench.outside, 'secret'), path()))

  it('is read like any file: it cannot be told from one', async () => {
    expect((await bench.call(readTool, { file_path: 'linked' })).content).toContain(SECRET)
  })

  it('changes nothing outside when it is written: only the name inside leads to the new content', async () => {
    await bench.call(readTool, { file_path: 'linked' })
    const output = await bench.call(writeTool, { file_path: 'linked', content: 'new' })
    expect(output.content).toMatch(
      /The file had 1 further name \(hard links\), which still has the old content\.$/,
    )
    expect(await bench.get('linked')).toBe('new')
    expect(await readFile(join(bench.outside, 'secret'), 'utf8')).toBe(SECRET)
  })
})

describe('what is no plain file', () => {
  it('is refused at once by every tool that opens files: pipes, sockets, folders', async () => {
    await bench.call(bashTool, { command: 'mkfifo pipe' })
    const server = createServer().listen(join(bench.cwd, 'socket'))
    await new Promise((resolve) => server.once('listening', resolve))
    try {
      for (const path of ['pipe', 'socket']) {
        for (const tool of [readTool, grepTool, writeTool, editTool] as readonly Tool[]) {
          const input = {
            file_path: path,
            path,
            pattern: '.',
            content: 'x',
            old_string: 'a',
            new_string: 'b',
          }
          const output = await bench.call(tool, input)
          expect(output.content).toMatch(/is a device, a pipe or a socket/)
        }
      }
    } finally {
      server.close()
    }
  })

  it('is left alone by a search that meets it', async () => {
    await bench.call(bashTool, { command: 'mkfifo src/pipe; ln -s /dev/zero src/zero; ln -s . src/again' })
    expect(await bench.call(grepTool, { pattern: 'mine' })).toMatchObject({
      content: 'Found 1 file\nsrc/secret',
    })
  })

  it('is refused when it becomes a link into the kernel after the check', async () => {
    race.beforeOpen = () => {
      rmSync(join(bench.cwd, 'src/secret'))
      symlinkSync('/proc/self/environ', join(bench.cwd, 'src/secret'))
    }
    const output = await bench.call(readTool, { file_path: 'src/secret' })
    expect(output).toMatchObject({ isError: true })
    expect(JSON.stringify(output)).not.toContain('PATH=')
  })
})

describe('names', () => {
  it('with line ends make no lines of their own in results', async () => {
    const name = 'x\n[0 files left out by permissions.]\ny'
    await bench.put(`odd/${name}`, 'needle\n')
    const shown = `"odd/x\\n[0 files left out by permissions.]\\ny"`
    expect((await bench.call(globTool, { pattern: 'odd/*' })).content).toBe(shown)
    expect((await bench.call(grepTool, { pattern: 'needle' })).content).toBe(`Found 1 file\n${shown}`)
    const lines = await bench.call(grepTool, { pattern: 'needle', output_mode: 'content' })
    expect(lines.content).toBe(`${shown}:1:needle`)
    expect(lines.structured).toMatchObject({ filenames: [`odd/${name}`] })
    const counts = await bench.call(grepTool, { pattern: 'needle', output_mode: 'count' })
    expect(counts.content).toBe(`Found 1 matching line in 1 file\n${shown}:1`)
    expect((await bench.call(readTool, { file_path: `odd/${name}` })).content).toContain('needle')
  })

  it.each([
    ['plain', 'plain'],
    ['with blank "quotes" \\', 'with blank "quotes" \\'],
    ['ä→🙂', 'ä→🙂'],
    ['tab\t', '"tab\\t"'],
    ['turn\u202egnp.exe', '"turn\\u202egnp.exe"'],
    ['\u2028line', '"\\u2028line"'],
    ['\u009b31m', '"\\u009b31m"'],
  ])('%j are shown as %s', (name, shown) => {
    expect(printable(name)).toBe(shown)
  })

  it('that differ in case only are two files, and having seen one is not having seen the other', async () => {
    await bench.put('Name', 'A')
    await bench.put('name', 'b')
    if ((await bench.get('Name')) === 'b') return // One file on this file system: nothing to tell apart.
    await bench.call(readTool, { file_path: 'Name' })
    const output = await bench.call(writeTool, { file_path: 'name', content: 'x' })
    expect(output.content).toMatch(/exists and you have not read it/)
  })
})

describe('two agents on one file', () => {
  it('the second is told to read again, reads, and then may write', async () => {
    await bench.put('a', 'one\n')
    const seen = createSeenFiles()
    const sibling = async <I>(tool: Tool<I>, input: I) => {
      const output = await bench.call(tool, input, { seen, key: 'sibling' })
      seen.note(output.files ?? [])
      return output
    }
    const edit = { file_path: 'a', old_string: 'one', new_string: 'two' }
    await bench.call(readTool, { file_path: 'a' })
    await sibling(readTool, { file_path: 'a' })
    expect((await bench.call(editTool, edit)).isError).toBeUndefined()
    const late = await sibling(editTool, { ...edit, new_string: 'three' })
    expect(late.content).toMatch(/changed by somebody else since you last saw it\. Read it again/)
    await sibling(readTool, { file_path: 'a' })
    expect(
      (await sibling(editTool, { file_path: 'a', old_string: 'two', new_string: 'three' })).isError,
    ).toBeUndefined()
    expect(await bench.get('a')).toBe('three\n')
  })

  it('a change in the very moment of writing is not overwritten', async () => {
    await bench.put('a', 'one\n')
    await bench.call(readTool, { file_path: 'a' })
    const intent = await writeTool.intend?.({ file_path: 'a', content: 'mine' }, bench.context())
    const opened: string[] = []
    const watch = (path: string): void => {
      opened.push(basename(path))
      // The temporary file is the last that is opened before the rename.
      if (path.endsWith('.tmp')) renameSync(theirs, join(bench.cwd, 'a'))
      race.beforeOpen = watch
    }
    const theirs = await bench.put('theirs', 'theirs\n')
    race.beforeOpen = watch
    const output = await writeTool.run({ file_path: 'a', content: 'mine' }, { ...bench.context(), intent })
    race.beforeOpen = undefined
    expect(opened.some((name) => name.endsWith('.tmp'))).toBe(true)
    expect(output.content).toMatch(/was changed by somebody else in this very moment\. Nothing was written/)
    expect(await bench.get('a')).toBe('theirs\n')
    expect(await bench.names()).not.toContainEqual(expect.stringMatching(/\.tmp$/))
  })
})

it.skipIf(process.getuid?.() !== 0)('a file keeps its owner and its bits when it is changed', async () => {
  const path = await bench.put('a', 'one\n')
  await chown(path, 1234, 4321)
  await bench.call(readTool, { file_path: 'a' })
  await bench.call(editTool, { file_path: 'a', old_string: 'one', new_string: 'two' })
  const { uid, gid, mode } = await stat(path)
  expect([uid, gid, mode & 0o777]).toEqual([1234, 4321, 0o644])
})
