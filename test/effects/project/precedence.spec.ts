import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AgentDefinition } from '../../../src/definitions/agent-definition.ts'
import { agent, codesOf, createWorld, namesOf, promptOf, type World } from './support/world.ts'

const BUILT_IN: AgentDefinition = {
  agentType: 'reviewer',
  whenToUse: 'built in',
  getSystemPrompt: () => 'built-in',
  source: 'built-in',
}

/** Every place that can hold the agent, the strongest first. */
const PLACES: readonly {
  readonly name: string
  readonly write: (world: World) => unknown
}[] = [
  { name: 'policy', write: (world) => world.write('policy/agents/a.md', agent('policy')) },
  { name: 'flag', write: () => {} },
  {
    name: 'near project folder',
    write: (world) => world.write('project/near/.claude/agents/z.md', agent('near project folder')),
  },
  {
    name: 'project root',
    write: (world) => world.write('project/.claude/agents/deep/a.md', agent('project root')),
  },
  { name: 'user', write: (world) => world.write('home/.claude/agents/a.md', agent('user')) },
  { name: 'built-in', write: () => {} },
]

describe('which of several agents of one name is in use', () => {
  it.each(PLACES.map(({ name }, index) => ({ name, index })))(
    '$name, when nothing stronger has it',
    async ({ name, index }) => {
      await using world = createWorld()
      const present = PLACES.slice(index)
      for (const place of present) place.write(world)
      mkdirSync(join(world.project, 'near'), { recursive: true })
      const project = await world.open({
        cwd: join(world.project, 'near'),
        policyDir: join(world.root, 'policy'),
        builtIn: [BUILT_IN],
        ...(index <= 1 && { agentsJson: JSON.stringify({ reviewer: { description: 'd', prompt: 'flag' } }) }),
      })
      expect(promptOf(project)).toBe(name)
      const losers = project.agents.allAgents.filter(({ shadowedBy }) => shadowedBy !== undefined)
      expect(losers.map(({ definition }) => definition.getSystemPrompt({ cwd: '/' }))).toEqual(
        present.slice(1).map((place) => place.name),
      )
      expect(project.diagnostics.filter(({ code }) => code === 'agent-shadowed')).toHaveLength(
        present.length - 1,
      )
    },
  )

  it('keeps agents of plugins apart by the plugin they come with', async () => {
    await using world = createWorld()
    world.write('project/.claude/agents/a.md', agent('project'))
    world.write('tools/agents/a.md', agent('plugin'))
    const project = await world.open({ plugins: [{ name: 'tools', dir: join(world.root, 'tools') }] })
    expect(promptOf(project, 'reviewer')).toBe('project')
    expect(promptOf(project, 'tools:reviewer')).toBe('plugin')
  })
})

describe('where agents are looked for', () => {
  it('goes up to the root of the repository and no further', async () => {
    await using world = createWorld()
    world.write('.claude/agents/a.md', agent('beyond', 'beyond'))
    world.write('project/.claude/agents/a.md', agent('root', 'root'))
    world.write('project/packages/one/.claude/agents/a.md', agent('near', 'near'))
    world.write('project/packages/two/.claude/agents/a.md', agent('beside', 'beside'))
    const project = await world.open({ cwd: join(world.project, 'packages/one') })
    expect(namesOf(project)).toEqual(['near', 'root'])
  })

  it('is the working directory alone without a repository', async () => {
    await using world = createWorld()
    rmSync(join(world.project, '.git'), { recursive: true })
    world.write('project/.claude/agents/a.md', agent('above', 'above'))
    world.write('project/here/.claude/agents/a.md', agent('here', 'here'))
    const project = await world.open({ cwd: join(world.project, 'here') })
    expect(namesOf(project)).toEqual(['here'])
  })

  it('takes the folder of the person for theirs where it lies in the repository', async () => {
    await using world = createWorld()
    mkdirSync(join(world.home, '.git'))
    const file = world.write('home/.claude/agents/a.md')
    world.write('home/work/.claude/agents/b.md', agent('b', 'b'))
    const project = await world.open({ cwd: join(world.home, 'work') })
    expect(project.agents.activeAgents.map(({ source }) => source)).toEqual([
      'projectSettings',
      'userSettings',
    ])
    expect(codesOf(project, file)).toEqual([])
  })

  it('follows CLAUDE_CONFIG_DIR', async () => {
    await using world = createWorld()
    world.write('home/.claude/agents/a.md', agent('home', 'home'))
    world.write('elsewhere/agents/a.md', agent('elsewhere', 'elsewhere'))
    const project = await world.open({ env: { CLAUDE_CONFIG_DIR: join(world.root, 'elsewhere') } })
    expect(namesOf(project)).toEqual(['elsewhere'])
  })

  it('gives the same answer however often and in whatever order files were made', async () => {
    await using world = createWorld()
    for (const name of ['c', 'a', 'b', 'a/nested', 'd'])
      world.write(`project/.claude/agents/${name}.md`, agent(name, `n${name.length}`))
    const [first, second] = [await world.open(), await world.open()]
    expect(first.diagnostics).toEqual(second.diagnostics)
    expect(promptOf(first, 'n1')).toBe('a')
    expect(codesOf(first, join(world.project, '.claude/agents/d.md'))).toEqual(['agent-shadowed'])
  })
})
