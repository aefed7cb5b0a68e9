import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agent, codesOf, createWorld, namesOf, type World } from './support/world.ts'

const MANIFEST = 'tools/.claude-plugin/plugin.json'

/** A plugin with the agents `one`, `sub/two` and `other/three`, outside of its usual folder. */
function pluginWith(
  world: World,
  manifest: unknown,
): { readonly plugins: readonly { readonly dir: string }[] } {
  world.write(MANIFEST, typeof manifest === 'string' ? manifest : JSON.stringify(manifest))
  for (const path of ['team/one', 'team/sub/two', 'other/three'])
    world.write(`tools/${path}.md`, agent(path, path.split('/').at(-1)))
  world.write('tools/agents/usual.md', agent('usual', 'usual'))
  return { plugins: [{ dir: join(world.root, 'tools') }] }
}

describe('the agents of a plugin', () => {
  it.each([
    ['its usual folder, without a word', undefined, ['usual']],
    ['a folder', './team', ['one', 'two']],
    ['a file', './other/three.md', ['three']],
    ['a pattern', './team/**/*.md', ['one', 'two']],
    ['a pattern for one level', 'team/*.md', ['one']],
    ['a pattern with choices', './{team,other}/*.md', ['one', 'three']],
    ['a list', ['./other', 'team/one.md'], ['one', 'three']],
    ['an object of agents', { inline: { description: 'd', prompt: 'p' } }, ['inline']],
    ['none', [], []],
  ])('are those of %s', async (_, agents, names) => {
    await using world = createWorld()
    const project = await world.open(pluginWith(world, { name: 'kit', agents }))
    expect(namesOf(project)).toEqual(names.map((name) => `kit:${name}`))
    expect(project.diagnostics).toEqual([])
    expect(
      project.agents.activeAgents.every(({ source, plugin }) => source === 'plugin' && plugin === 'kit'),
    ).toBe(true)
  })

  it('of a JSON file that the manifest names are read', async () => {
    await using world = createWorld()
    world.write('tools/more.json', JSON.stringify({ agents: { more: { description: 'd', prompt: 'p' } } }))
    const project = await world.open(pluginWith(world, { agents: 'more.json' }))
    expect(namesOf(project)).toEqual(['tools:more'])
  })

  it.each([
    ['a path above', '../outside'],
    ['an absolute path', '/etc'],
    ['a way round', './team/../../outside/a.md'],
    ['a pattern above', '../outside/*.md'],
  ])('are not those of %s', async (_, agents) => {
    await using world = createWorld()
    world.write('outside/a.md')
    const project = await world.open(pluginWith(world, { agents: [agents, './other'] }))
    expect(namesOf(project)).toEqual(['tools:three'])
    expect(codesOf(project, join(world.root, MANIFEST))).toEqual(['plugin-agents-outside'])
  })

  it.each([
    ['folder', 'leak', 'leak'],
    ['pattern', 'leak', 'leak/*.md'],
    ['file', 'leak.md', 'leak.md'],
  ])('are not those that a link leads to outside (%s)', async (kind, name, agents) => {
    await using world = createWorld()
    world.write('outside/a.md')
    world.link(`tools/${name}`, join(world.root, kind === 'file' ? 'outside/a.md' : 'outside'))
    const project = await world.open(pluginWith(world, { agents }))
    expect(namesOf(project)).toEqual([])
    expect(codesOf(project, join(world.root, 'tools', name))).toEqual(['agent-file-outside'])
  })

  it.each([
    ['a number', 7, 'plugin-agents-unreadable', ['usual']],
    ['a list with something else', [7, './other'], 'plugin-agents-unreadable', ['three']],
    ['an empty path', [' ', './other'], 'plugin-agents-unreadable', ['three']],
    ['a pattern that is slow to match', ['*a*a*a*a*a*a*b', './other'], 'plugin-agents-unreadable', ['three']],
    ['a pattern with groups', ['(a|a)+.md', './other'], 'plugin-agents-unreadable', ['three']],
  ])('%s is told, and the others stay', async (_, agents, code, names) => {
    await using world = createWorld()
    const project = await world.open(pluginWith(world, { agents }))
    expect(codesOf(project, join(world.root, MANIFEST))).toEqual([code])
    expect(namesOf(project)).toEqual(names.map((name) => `tools:${name}`))
  })

  it('that are named and not there are told', async () => {
    await using world = createWorld()
    const project = await world.open(pluginWith(world, { agents: './no-such' }))
    expect(codesOf(project, join(world.root, 'tools/no-such'))).toEqual(['agent-file-unreadable'])
  })
})

describe('a plugin', () => {
  it.each(['{"name": ', '[]', 'null', ''])(
    'whose manifest is %j is taken as one without',
    async (manifest) => {
      await using world = createWorld()
      const project = await world.open(pluginWith(world, manifest))
      expect(codesOf(project, join(world.root, MANIFEST))).toEqual(['plugin-manifest-unreadable'])
      expect(namesOf(project)).toEqual(['tools:usual'])
    },
  )

  it.each(['a:b', '', '../x', 7, 'a b', '\u001b[31m'])('cannot be called %j', async (name) => {
    await using world = createWorld()
    const project = await world.open(pluginWith(world, { name }))
    expect(codesOf(project, join(world.root, MANIFEST))).toEqual(['plugin-manifest-unreadable'])
    expect(namesOf(project)).toEqual(['tools:usual'])
  })

  it('that is not there, or is a file, is told', async () => {
    await using world = createWorld()
    const dirs = [join(world.root, 'no-such'), world.write('file')]
    const project = await world.open({ plugins: dirs.map((dir) => ({ dir })) })
    expect(dirs.map((dir) => codesOf(project, dir))).toEqual([['plugin-unreadable'], ['plugin-unreadable']])
  })

  it('may be empty', async () => {
    await using world = createWorld()
    mkdirSync(join(world.root, 'empty'))
    const project = await world.open({ plugins: [{ dir: join(world.root, 'empty') }] })
    expect([namesOf(project), project.diagnostics]).toEqual([[], []])
  })

  it('is trusted: its agents keep their hooks and servers', async () => {
    await using world = createWorld()
    world.write(
      'tools/agents/a.md',
      agent(
        'p',
        'a',
        'mcpServers: [{ name: own, command: run }]\nhooks: { Stop: [{ hooks: [{ type: command, command: ls }] }] }\n',
      ),
    )
    const project = await world.open({ plugins: [{ dir: join(world.root, 'tools') }] })
    const [definition] = project.agents.activeAgents
    expect([definition?.hooks?.length, definition?.mcpServers?.length]).toEqual([1, 1])
  })

  it('brings skills', async () => {
    await using world = createWorld()
    world.write('tools/skills/review/SKILL.md', '---\nname: review\ndescription: d\n---\nhow')
    const project = await world.open({ plugins: [{ name: 'kit', dir: join(world.root, 'tools') }] })
    expect(project.skills.map(({ name }) => name)).toEqual(['kit:review'])
  })
})
