/** A cloned repository is hostile: nothing leads out of it, nothing goes on for ever, nothing is dropped silently. */
import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MAX_FILE_BYTES } from '../../../src/definitions/files/file-text.ts'
import { AGENT_PLACE_LIMITS } from '../../../src/effects/project/walk-agent-files.ts'
import { agent, codesOf, createWorld, namesOf, promptOf } from './support/world.ts'

const isRoot = process.getuid?.() === 0

describe('a link in a folder of agents', () => {
  it.each([
    ['to a file of the system', 'passwd.md', '/etc/passwd'],
    ['to a folder of the system', 'etc', '/etc'],
    ['to a folder beside the repository', 'beside', '../../../outside'],
    ['to a file beside the repository', 'beside.md', '../../../outside/a.md'],
    ['to the kernel', 'environ.md', '/proc/self/environ'],
    ['to nothing', 'nothing.md', './no-such-file.md'],
    ['to itself', 'self.md', 'self.md'],
  ])('%s is refused and told, and its content appears nowhere', async (_, name, target) => {
    await using world = createWorld()
    world.write('outside/a.md', agent('SECRET', 'outsider'))
    world.write('project/.claude/agents/good.md')
    const link = world.link(`project/.claude/agents/${name}`, target)
    const project = await world.open()
    expect(namesOf(project)).toEqual(['reviewer'])
    const [code] = codesOf(project, link)
    expect(code).toBe(/passwd|etc|beside/.test(name) ? 'agent-file-outside' : 'agent-file-unreadable')
    expect(project.agents.failedFiles.map(({ file }) => file)).toEqual([link])
    const everything = JSON.stringify([project.agents, project.diagnostics, project.facts])
    expect(everything).not.toContain('SECRET')
    expect(everything).not.toContain(readFileSync('/etc/passwd', 'utf8').split('\n')[0])
  })

  it.each([
    ['the folder itself', '.'],
    ['the folder above', '..'],
    ['the whole repository', '../..'],
  ])('to %s is not followed round and round', async (_, target) => {
    await using world = createWorld()
    world.write('project/.claude/agents/deep/a.md')
    const link = world.link('project/.claude/agents/round', target)
    const project = await world.open()
    expect(namesOf(project)).toEqual(['reviewer'])
    expect(codesOf(project, link)).toEqual(['agent-file-repeated'])
    expect(project.agents.failedFiles).toEqual([])
  })

  it('inside the repository is followed', async () => {
    await using world = createWorld()
    world.write('project/shared/one.md', agent('one', 'one'))
    world.write('project/two.md', agent('two', 'two'))
    world.link('project/.claude/agents/shared', '../../shared')
    world.link('project/.claude/agents/two.md', '../../two.md')
    expect(namesOf(await world.open())).toEqual(['one', 'two'])
  })

  it('to a file that is there already gives it once, under its own name', async () => {
    await using world = createWorld()
    const file = world.write('project/.claude/agents/z.md')
    const link = world.link('project/.claude/agents/a.md', 'z.md')
    const project = await world.open()
    expect(project.agents.activeAgents[0]?.filename).toBe(file)
    expect(codesOf(project, link)).toEqual(['agent-file-repeated'])
  })

  it('in place of the folder itself must stay in the repository too', async () => {
    await using world = createWorld()
    world.write('outside/a.md')
    const link = world.link('project/.claude/agents', join(world.root, 'outside'))
    const project = await world.open()
    expect(namesOf(project)).toEqual([])
    expect(codesOf(project, link)).toEqual(['agent-file-outside'])
  })

  it('in place of the person’s folder may lead anywhere, but what is in it may not', async () => {
    await using world = createWorld()
    world.write('dotfiles/agents/mine.md', agent('mine', 'mine'))
    world.link('home/.claude/agents', '../../dotfiles/agents')
    world.link('dotfiles/agents/passwd.md', '/etc/passwd')
    const project = await world.open()
    expect(namesOf(project)).toEqual(['mine'])
    expect(codesOf(project, join(world.home, '.claude/agents/passwd.md'))).toEqual(['agent-file-outside'])
  })
})

describe('what cannot be read', () => {
  it.skipIf(isRoot)('a folder and a file without rights are told, and the others are read', async () => {
    await using world = createWorld()
    world.write('project/.claude/agents/good.md')
    const file = world.write('project/.claude/agents/bad.md')
    world.write('project/.claude/agents/closed/a.md')
    const folder = join(world.project, '.claude/agents/closed')
    chmodSync(file, 0)
    chmodSync(folder, 0)
    const project = await world.open()
    chmodSync(folder, 0o700)
    expect(namesOf(project)).toEqual(['reviewer'])
    expect(codesOf(project, file)).toEqual(['agent-file-unreadable'])
    expect(codesOf(project, folder)).toEqual(['agent-folder-unreadable'])
  })

  it('a file that is too large is not read, and its size is told', async () => {
    await using world = createWorld()
    const file = world.write('project/.claude/agents/huge.md', agent('x'.repeat(MAX_FILE_BYTES)))
    const project = await world.open()
    expect(codesOf(project, file)).toEqual(['file-too-large'])
    expect(project.agents.failedFiles[0]?.reason).toContain(String(readFileSync(file).length))
  })

  it('a pipe in place of a file does not make it wait', async () => {
    await using world = createWorld()
    world.write('project/.claude/agents/good.md')
    const pipe = join(world.project, '.claude/agents/pipe.md')
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', pipe])
    const project = await world.open()
    expect(namesOf(project)).toEqual(['reviewer'])
    expect(codesOf(project, pipe)).toEqual(['agent-file-unreadable'])
  })

  it('a file in place of the folder of agents is told', async () => {
    await using world = createWorld()
    const file = world.write('project/.claude/agents', 'not a folder')
    const project = await world.open()
    expect(namesOf(project)).toEqual([])
    expect(project.agents.failedFiles.map((failed) => failed.file)).toEqual([file])
  })

  it('bytes that are no text, and names of files that are none, do no harm', async () => {
    await using world = createWorld()
    world.write('project/.claude/agents/bytes.md', new Uint8Array([0xff, 0xfe, 0, 1, 2, 0x2d, 0x2d]))
    world.write('project/.claude/agents/\u001b[31mred.md', '---\ndescription: d\n---\np')
    world.write('project/.claude/agents/.hidden.md')
    world.write('project/.claude/agents/notes.txt')
    const project = await world.open()
    expect(namesOf(project)).toHaveLength(1)
    expect(namesOf(project)[0]).not.toContain('\u001b')
  })
})

describe('bounds', () => {
  it('folders are looked at to a depth, and what is deeper is told', async () => {
    await using world = createWorld()
    const levels = Array.from({ length: AGENT_PLACE_LIMITS.depth }, (_, index) => `d${index}`)
    world.write(`project/.claude/agents/${levels.join('/')}/last.md`, agent('last', 'last'))
    world.write(`project/.claude/agents/${levels.join('/')}/more/beyond.md`, agent('beyond', 'beyond'))
    const project = await world.open()
    expect(namesOf(project)).toEqual(['last'])
    expect(codesOf(project, join(world.project, '.claude/agents'))).toEqual(['agent-files-too-many'])
  })

  it('reads more files than are read at once, all of them', async () => {
    await using world = createWorld()
    for (let index = 0; index < 300; index += 1)
      world.write(`project/.claude/agents/g${index % 7}/a${index}.md`, agent(`${index}`, `a${index}`))
    const project = await world.open()
    expect(namesOf(project)).toHaveLength(300)
    expect(promptOf(project, 'a123')).toBe('123')
  })
})
