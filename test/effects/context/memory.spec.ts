import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  excludeLocalMemory,
  type MemoryFolder,
  memoryFolder,
  readMemory,
} from '../../../src/effects/context/memory.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

describe('the folder of a memory', () => {
  const places = { home: '/home/u', project: '/p' }

  it.each([
    ['user', '/home/u/.claude/agent-memory/x'],
    ['project', '/p/.claude/agent-memory/x'],
    ['local', '/p/.claude/agent-memory-local/x'],
  ] as const)('of scope %s is %s', (scope, path) => {
    expect(memoryFolder(scope, 'x', places).path).toBe(path)
  })

  it.each(['../../../etc', '/etc', '..', 'a/../../b', 'a\0b', ''])(
    'of the type %j lies in the folder of all memories',
    (type) => {
      expect(dirname(memoryFolder('project', type, places).path)).toBe('/p/.claude/agent-memory')
    },
  )

  it('is in the settings folder that is given', () => {
    expect(memoryFolder('user', 'x', { ...places, configDir: '/c' }).path).toBe('/c/agent-memory/x')
  })
})

describe('a memory that is read', () => {
  function memoryIn(scope: MemoryFolder['scope'] = 'project'): { base: string; folder: MemoryFolder } {
    const base = temporaryFolder()
    const project = join(base, 'project')
    mkdirSync(join(base, 'outside'))
    mkdirSync(project)
    writeFileSync(join(base, 'outside', 'MEMORY.md'), 'SECRET')
    return { base, folder: memoryFolder(scope, 'x', { home: join(base, 'home'), project }) }
  }
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }

  it('gives its text and where its agent may write', async () => {
    const { folder } = memoryIn()
    write(join(folder.path, 'MEMORY.md'), '\ufeff- a\r\n- b\r\n')
    expect(await readMemory(folder)).toEqual({
      text: '- a\n- b\n',
      writableRoot: folder.path,
      diagnostics: [],
    })
  })

  it.each(['user', 'project', 'local'] as const)('of scope %s may not exist yet', async (scope) => {
    const { folder } = memoryIn(scope)
    expect(await readMemory(folder)).toEqual({ text: undefined, writableRoot: folder.path, diagnostics: [] })
  })

  it('is cut to 200 lines and says so', async () => {
    const { folder } = memoryIn()
    write(join(folder.path, 'MEMORY.md'), 'line\n'.repeat(300))
    const { text, diagnostics } = await readMemory(folder)
    expect(text?.match(/line\n/g)).toHaveLength(200)
    expect(text).toContain('[Cut here')
    expect(diagnostics).toMatchObject([{ severity: 'warning', code: 'memory-cut' }])
  })

  it.each([
    ['.claude', '../outside'],
    ['.claude/agent-memory', '../../outside'],
    ['.claude/agent-memory/x', '../../../outside'],
  ])('is refused when %s is a link out of the project', async (link, target) => {
    const { base, folder } = memoryIn()
    mkdirSync(dirname(join(base, 'project', link)), { recursive: true })
    symlinkSync(target, join(base, 'project', link))
    const { text, writableRoot, diagnostics } = await readMemory(folder)
    expect({ text, writableRoot }).toEqual({ text: undefined, writableRoot: undefined })
    expect(diagnostics).toMatchObject([{ severity: 'error', code: 'memory-outside' }])
  })

  it('is refused when its folder is a link to nothing', async () => {
    const { folder } = memoryIn()
    mkdirSync(dirname(folder.path), { recursive: true })
    symlinkSync('/nowhere/at/all', folder.path)
    expect(await readMemory(folder)).toMatchObject({
      writableRoot: undefined,
      diagnostics: [{ code: 'memory-outside' }],
    })
  })

  it('is not read when its file is a link out of its folder', async () => {
    const { folder } = memoryIn()
    mkdirSync(folder.path, { recursive: true })
    symlinkSync('../../../../outside/MEMORY.md', join(folder.path, 'MEMORY.md'))
    const { text, diagnostics } = await readMemory(folder)
    expect(text).toBeUndefined()
    expect(diagnostics).toMatchObject([{ code: 'memory-outside' }])
  })

  it('may lie behind a link that stays in its place', async () => {
    const { base, folder } = memoryIn()
    write(join(base, 'project', 'shared', 'x', 'MEMORY.md'), 'shared')
    mkdirSync(join(base, 'project', '.claude'))
    symlinkSync('../shared', join(base, 'project', '.claude', 'agent-memory'))
    expect(await readMemory(folder)).toEqual({
      text: 'shared',
      writableRoot: join(base, 'project', 'shared', 'x'),
      diagnostics: [],
    })
  })

  it('that is a folder is told', async () => {
    const { folder } = memoryIn()
    mkdirSync(join(folder.path, 'MEMORY.md'), { recursive: true })
    expect(await readMemory(folder)).toMatchObject({
      text: undefined,
      diagnostics: [{ code: 'memory-unreadable' }],
    })
  })
})

describe('keeping local memory out of git', () => {
  const LINE = '**/.claude/agent-memory-local/'

  it('adds its line once, behind what is there', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, '.git', 'info'), { recursive: true })
    writeFileSync(join(root, '.git', 'info', 'exclude'), '*.log')
    expect(await excludeLocalMemory(root)).toBe('added')
    expect(await excludeLocalMemory(root)).toBe('present')
    expect(readFileSync(join(root, '.git', 'info', 'exclude'), 'utf8')).toBe(`*.log\n${LINE}\n`)
  })

  it('makes the file where there is none', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, '.git'))
    expect(await excludeLocalMemory(root)).toBe('added')
    expect(readFileSync(join(root, '.git', 'info', 'exclude'), 'utf8')).toBe(`${LINE}\n`)
  })

  it('writes through no link and nowhere else', async () => {
    const base = temporaryFolder()
    const victim = join(base, 'victim')
    mkdirSync(join(victim, 'info'), { recursive: true })
    writeFileSync(join(victim, 'info', 'exclude'), '')
    const root = join(base, 'repo')
    mkdirSync(root)
    expect(await excludeLocalMemory(root)).toBe('not-possible')
    symlinkSync(victim, join(root, '.git'))
    expect(await excludeLocalMemory(root)).toBe('not-possible')
    rmSync(join(root, '.git'))
    mkdirSync(join(root, '.git'))
    symlinkSync(join(victim, 'info'), join(root, '.git', 'info'))
    expect(await excludeLocalMemory(root)).toBe('not-possible')
    rmSync(join(root, '.git', 'info'))
    mkdirSync(join(root, '.git', 'info'))
    symlinkSync(join(victim, 'info', 'exclude'), join(root, '.git', 'info', 'exclude'))
    expect(await excludeLocalMemory(root)).toBe('not-possible')
    expect(readFileSync(join(victim, 'info', 'exclude'), 'utf8')).toBe('')
  })
})
