import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { createVirtualClock } from '../../../src/effects/virtual-clock.ts'
import { agent, createWorld, namesOf, promptOf } from './support/world.ts'

/** Rejects when nothing is told for a long time. */
function nextChange(onChange: (listener: () => void) => () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = setTimeout(() => reject(new Error('no change was told in 20 s')), 20_000)
    const stop = onChange(() => {
      clearTimeout(giveUp)
      stop()
      resolve()
    })
  })
}

describe('a watched project', () => {
  it('has new agents after a file changes, and the same ones while nothing does', async () => {
    await using world = createWorld()
    const file = world.write('project/.claude/agents/a.md', agent('before'))
    world.write('project/.claude/skills/s/SKILL.md', '---\nname: s\ndescription: d\n---\nhow')
    const project = await world.open({ watch: true })
    const [agents, skills] = [project.agents, project.skills]
    const changed = nextChange(project.onChange)
    writeFileSync(file, agent('after'))
    await changed
    expect(promptOf(project)).toBe('after')
    expect(project.agents).not.toBe(agents)
    // Nothing happened to them.
    expect(project.skills).toBe(skills)
  })

  it('notices a folder of agents that is made later, in the project and with the person', async () => {
    await using world = createWorld()
    const project = await world.open({ watch: true })
    let changed = nextChange(project.onChange)
    world.write('project/.claude/agents/deep/a.md', agent('p', 'late'))
    await changed
    expect(namesOf(project)).toEqual(['late'])
    changed = nextChange(project.onChange)
    world.write('home/.claude/agents/b.md', agent('p', 'own'))
    await changed
    expect(namesOf(project)).toEqual(['late', 'own'])
  })

  it('notices skills, and files that are removed', async () => {
    await using world = createWorld()
    const file = world.write('project/.claude/agents/a.md')
    const project = await world.open({ watch: true })
    let changed = nextChange(project.onChange)
    world.write('project/.claude/skills/s/SKILL.md', '---\nname: s\ndescription: d\n---\nhow')
    await changed
    expect(project.skills.map(({ name }) => name)).toEqual(['s'])
    expect(project.facts.skills).toEqual([{ name: 's', description: 'd' }])
    changed = nextChange(project.onChange)
    rmSync(file)
    await changed
    expect(namesOf(project)).toEqual([])
  })

  it('tells nothing once it is closed, and leaves no timer', async () => {
    await using world = createWorld()
    const clock = createVirtualClock()
    const file = world.write('project/.claude/agents/a.md')
    const project = await world.open({ watch: true, clock })
    project.onChange(() => {
      throw new Error('told after the end')
    })
    writeFileSync(file, agent('after'))
    // It waits for quiet after the first thing it notices.
    await vi.waitUntil(() => clock.pending > 0, { timeout: 20_000 })
    await project.close()
    expect(clock.pending).toBe(0)
    await clock.advanceAsync(1_000)
    expect(promptOf(project)).toBe('project/.claude/agents/a.md')
  })

  it('keeps no process alive', () => {
    const script = `
      import { openProject } from ${JSON.stringify(new URL('../../../src/effects/project/open-project.ts', import.meta.url).href)}
      await openProject({ cwd: process.cwd(), home: process.cwd(), watch: true })
      process.stdout.write('opened')`
    const args = ['--import', 'tsx', '--input-type=module', '-e', script]
    const options = { encoding: 'utf8', timeout: 20_000 } as const
    expect(execFileSync(process.execPath, args, options)).toBe('opened')
  })
})

describe('what agents are told', () => {
  it('are the CLAUDE.md files and the state of git, as they were at first', async () => {
    await using world = createWorld()
    rmSync(join(world.project, '.git'), { recursive: true })
    execFileSync('git', ['init', '-q', '-b', 'trunk', world.project])
    const file = world.write('project/CLAUDE.md', 'Use tabs.')
    world.write('home/.claude/CLAUDE.md', 'Be brief.')
    const project = await world.open({ env: { PATH: process.env['PATH'] } })
    const first = await project.userContext(world.project)
    expect(first.text).toContain('Use tabs.')
    expect(first.text).toContain('Be brief.')
    expect(first.text).toContain('trunk')
    writeFileSync(file, 'Use blanks.')
    world.write('project/new.ts', '')
    expect(await project.userContext(world.project)).toEqual(first)
    expect((await project.userContext(world.project, { gitStatus: false })).text).not.toContain('trunk')
  })

  it('is nothing where there is nothing', async () => {
    await using world = createWorld()
    const project = await world.open()
    expect(await project.userContext(world.home, { gitStatus: false })).toEqual({ text: '', diagnostics: [] })
    expect(await project.userContext(join(world.root, 'no-such'))).toEqual({ text: '', diagnostics: [] })
  })

  it('is their memory, read anew each time; a local one stays out of git', async () => {
    await using world = createWorld()
    world.write('project/.git/info/exclude', '')
    const project = await world.open({ cwd: world.project })
    expect((await project.memory('local', 'a:b')).text).toContain('empty so far')
    world.write('project/.claude/agent-memory-local/a%3Ab/MEMORY.md', 'The port is 80.')
    const memory = await project.memory('local', 'a:b')
    expect(memory.text).toContain('The port is 80.')
    expect(memory.writableRoot).toBe(join(world.project, '.claude/agent-memory-local/a%3Ab'))
    expect(readFileSync(join(world.project, '.git/info/exclude'), 'utf8')).toContain('agent-memory-local')
    expect(project.diagnostics).toEqual([])
  })

  it('is no memory that a link leads out to', async () => {
    await using world = createWorld()
    world.write('outside/MEMORY.md', 'SECRET')
    world.link('project/.claude/agent-memory/a', join(world.root, 'outside'))
    const memory = await (await world.open()).memory('project', 'a')
    expect(memory).toMatchObject({
      text: '',
      writableRoot: undefined,
      diagnostics: [{ code: 'memory-outside' }],
    })
  })

  it('are facts about the project, sorted, without what every project has', async () => {
    await using world = createWorld()
    world.write('project/.claude/agents/b.md', agent('p', 'b'))
    world.write('home/.claude/agents/a.md', agent('p', 'a'))
    const settings = world.write('project/.claude/settings.json', '{}')
    const project = await world.open({
      mcpConfigs: ['{"mcpServers": {"z": {"command": "c"}, "y": {"command": "c"}}}'],
      builtIn: [{ agentType: 'c', whenToUse: 'd', getSystemPrompt: () => '', source: 'built-in' }],
    })
    expect(project.facts).toEqual({
      agents: [
        { name: 'a', description: 'Reviews code' },
        { name: 'b', description: 'Reviews code' },
      ],
      skills: [],
      mcpServers: ['y', 'z'],
      settingsFiles: [settings],
    })
    expect(project.facts).toBe(project.facts)
  })
})
