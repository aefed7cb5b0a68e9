import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ProjectOptions } from '../../../src/effects/project/open-project.ts'
import { agent, codesOf, createWorld, type World } from './support/world.ts'

const servers = (...names: readonly string[]): unknown => ({
  mcpServers: Object.fromEntries(names.map((name) => [name, { command: `run-${name}` }])),
})
const json = (world: World, path: string, value: unknown): string => world.write(path, JSON.stringify(value))

const DANGEROUS = agent(
  'p',
  'reviewer',
  [
    'mcpServers:',
    '  - shared',
    '  - own: { command: evil }',
    'hooks:',
    '  Stop:',
    '    - hooks: [{ type: command, command: evil }]',
    '',
  ].join('\n'),
)

describe('what settings say of worktrees', () => {
  const OWN = { worktree: { keepIgnored: true, uncommitted: 'refuse', symlinkDirectories: ['cache'] } }
  const THEIRS = {
    worktree: {
      keepIgnored: false,
      uncommitted: 'snapshot',
      symlinkDirectories: ['src'],
      sparsePaths: ['docs'],
    },
  }

  it('of a project that is not trusted opens nothing and takes nothing back, and that is told', async () => {
    await using world = createWorld()
    json(world, 'home/.claude/settings.json', OWN)
    const file = json(world, 'project/.claude/settings.json', THEIRS)
    const project = await world.open({})
    expect(project.worktree).toEqual({ ...OWN.worktree, sparsePaths: ['docs'] })
    expect(codesOf(project, file)).toEqual(['project-not-trusted'])
    expect(JSON.stringify(project.diagnostics)).toContain(
      '`symlinkDirectories`, `keepIgnored: false`, `uncommitted: \\"snapshot\\"` has no force',
    )
    const trusted = await world.open({ trust: true })
    expect(trusted.worktree).toEqual(THEIRS.worktree)
  })

  it('may keep more than the person asks for', async () => {
    await using world = createWorld()
    const file = json(world, 'project/.claude/settings.json', {
      worktree: { keepIgnored: true, uncommitted: 'refuse' },
    })
    const project = await world.open({})
    expect(project.worktree).toEqual({ keepIgnored: true, uncommitted: 'refuse' })
    expect(codesOf(project, file)).toEqual([])
  })

  it.each(['../other', '/etc', 'a/../../b', '.git/hooks', 'sub/.GIT', '.', '', 'a\nb'])(
    'a path that leads out is refused and told, also of a trusted project: %j',
    async (path) => {
      await using world = createWorld()
      for (const key of ['sparsePaths', 'symlinkDirectories']) {
        const file = json(world, 'project/.claude/settings.json', { worktree: { [key]: [path] } })
        const project = await world.open({ trust: true })
        expect(project.worktree).toEqual({})
        expect(codesOf(project, file)).toEqual(['settings-field-unreadable'])
      }
    },
  )
})

describe('MCP servers', () => {
  it('of one name: flag goes before local, local before project, project before user', async () => {
    await using world = createWorld()
    const [user, settings, mcpJson, local, flag] = [
      json(world, 'home/.claude/settings.json', servers('a', 'b', 'c', 'd', 'e')),
      json(world, 'project/.claude/settings.json', servers('a', 'b', 'c', 'd')),
      json(world, 'project/.mcp.json', servers('a', 'b', 'C')),
      json(world, 'project/.claude/settings.local.json', servers('a', 'b')),
      json(world, 'flag.json', servers('a')),
    ]
    const project = await world.open({ trust: true, mcpConfigs: [flag] })
    expect(project.mcpServers.map(({ name, from }) => [name, from])).toEqual([
      ['a', flag],
      ['b', local],
      ['C', mcpJson],
      ['d', settings],
      ['e', user],
    ])
    expect(codesOf(project, user)).toEqual(Array(4).fill('mcp-server-shadowed'))
    expect(codesOf(project, flag)).toEqual([])
  })

  it('of --mcp-config are taken from files and from JSON, with variables put in', async () => {
    await using world = createWorld()
    const path = json(world, 'project/extra.json', servers('from-file'))
    const args = [`\${PORT}`]
    const text = JSON.stringify({ mcpServers: { 'from-text': { command: 'run', args } } })
    const project = await world.open({
      mcpConfigs: ['extra.json', text, 'no-such.json', '{"broken'],
      env: { PORT: '80' },
    })
    expect(project.mcpServers.map(({ name, from }) => [name, from])).toEqual([
      ['from-file', path],
      ['from-text', '--mcp-config'],
    ])
    expect(project.mcpServers[1]?.config).toMatchObject({ args: ['80'] })
    expect(codesOf(project, join(world.project, 'no-such.json'))).toEqual(['mcp-config-unreadable'])
    expect(codesOf(project, '--mcp-config')).toEqual(['mcp-file-unreadable'])
  })

  it.each<[string, unknown, readonly string[]]>([
    ['nobody said so', {}, ['mine']],
    ['the person lets all of them be', { enableAllProjectMcpServers: true }, ['b', 'l', 'mine', 'p', 's']],
    ['the person names one', { enabledMcpjsonServers: ['p'] }, ['mine', 'p']],
    ['the person names one in a plain text', { enabledMcpjsonServers: 'p' }, ['mine', 'p']],
    [
      'the person forbids one',
      { enableAllProjectMcpServers: true, disabledMcpjsonServers: ['p'] },
      ['b', 'l', 'mine', 's'],
    ],
    ['the person wrote something else', { enableAllProjectMcpServers: 'yes' }, ['mine']],
  ])('of a project that is not trusted: %s', async (_, own, names) => {
    await using world = createWorld()
    json(world, 'home/.claude/settings.json', { ...(servers('mine') as object), ...(own as object) })
    json(world, 'project/.mcp.json', servers('p', 'b'))
    json(world, 'project/.claude/settings.json', servers('s'))
    json(world, 'project/.claude/settings.local.json', servers('l'))
    const project = await world.open()
    expect(project.mcpServers.map(({ name }) => name)).toEqual(names)
    const isWhole = names.length > 3
    expect(project.diagnostics.some(({ code }) => code === 'project-not-trusted')).toBe(!isWhole)
  })

  it('are not there because a project says that it is trusted', async () => {
    await using world = createWorld()
    json(world, 'project/.mcp.json', servers('p'))
    const claims = {
      enableAllProjectMcpServers: true,
      enabledMcpjsonServers: ['p'],
      strictPluginOnlyCustomization: false,
    }
    const files = ['settings.json', 'settings.local.json'].map((name) =>
      json(world, `project/.claude/${name}`, claims),
    )
    const project = await world.open()
    expect(project.mcpServers).toEqual([])
    for (const file of files) expect(codesOf(project, file)).toEqual(Array(3).fill('settings-not-honoured'))
  })
})

describe('an agent of a project', () => {
  const definitionOf = async (world: World, options?: Partial<ProjectOptions>) => {
    const project = await world.open(options)
    const [definition] = project.agents.activeAgents
    return { project, hooks: definition?.hooks?.length ?? 0, mcpServers: definition?.mcpServers ?? [] }
  }

  it('that is not trusted runs without its hooks and its own servers, and that is told', async () => {
    await using world = createWorld()
    const file = world.write('project/.claude/agents/a.md', DANGEROUS)
    const { project, hooks, mcpServers } = await definitionOf(world)
    expect([hooks, mcpServers]).toEqual([0, ['shared']])
    expect(codesOf(project, file)).toEqual(['project-not-trusted'])
  })

  it('that is trusted keeps them', async () => {
    await using world = createWorld()
    const file = world.write('project/.claude/agents/a.md', DANGEROUS)
    const { project, hooks, mcpServers } = await definitionOf(world, { trust: true })
    expect([hooks, mcpServers.length]).toEqual([1, 2])
    expect(codesOf(project, file)).toEqual([])
  })

  it('keeps its own servers, but not its hooks, where the person lets all servers of projects be', async () => {
    await using world = createWorld()
    json(world, 'home/.claude/settings.json', { enableAllProjectMcpServers: true })
    world.write('project/.claude/agents/a.md', DANGEROUS)
    const { hooks, mcpServers } = await definitionOf(world)
    expect([hooks, mcpServers.length]).toEqual([0, 2])
  })

  it('of the person keeps them in any project', async () => {
    await using world = createWorld()
    world.write('home/.claude/agents/a.md', DANGEROUS)
    const { hooks, mcpServers } = await definitionOf(world)
    expect([hooks, mcpServers.length]).toEqual([1, 2])
  })

  it.each([
    ['the person', 'home/.claude/settings.json'],
    ['a policy', 'policy/managed-settings.json'],
  ])('has no surface that %s reserves for plugins, trusted or not', async (_, path) => {
    await using world = createWorld()
    json(world, path, { strictPluginOnlyCustomization: ['hooks'] })
    world.write('project/.claude/agents/a.md', DANGEROUS)
    const { hooks, mcpServers } = await definitionOf(world, {
      trust: true,
      policyDir: join(world.root, 'policy'),
    })
    expect([hooks, mcpServers.length]).toEqual([0, 2])
  })
})

describe('settings that cannot be read', () => {
  const BROKEN: readonly (readonly [string, string, number | undefined])[] = [
    ['cut off', '{\n  "mcpServers": {\n', 2],
    ['no JSON', '{\n  oops\n}', 2],
    ['a list', '[]', undefined],
    ['null', 'null', undefined],
    ['empty', '', 1],
  ]

  it.each(
    BROKEN.flatMap(([what, text, line]) =>
      [
        'home/.claude/settings.json',
        'project/.claude/settings.json',
        'project/.claude/settings.local.json',
        'policy/settings.json',
      ].map((path) => [what, path, text, line] as const),
    ),
  )('%s: %s is told with its line, and everything else works', async (_, path, text, line) => {
    await using world = createWorld()
    const file = world.write(path, text)
    world.write('project/.claude/agents/a.md')
    json(world, 'project/.mcp.json', servers('p'))
    const project = await world.open({ trust: true, policyDir: join(world.root, 'policy') })
    const told = project.diagnostics.filter((diagnostic) => diagnostic.file === file)
    expect(told).toMatchObject([
      { code: 'settings-unreadable', severity: 'error', ...(line !== undefined && { line }) },
    ])
    expect(project.agents.activeAgents).toHaveLength(1)
    expect(project.mcpServers).toHaveLength(1)
  })

  it.each([
    ['a policy that is broken', '{'],
    ['a wish that is broken', JSON.stringify({ strictPluginOnlyCustomization: 'yes' })],
  ])('reserve everything for plugins: %s', async (_, text) => {
    await using world = createWorld()
    world.write('policy/managed-settings.json', text)
    world.write('project/.claude/agents/a.md', DANGEROUS)
    const project = await world.open({ trust: true, policyDir: join(world.root, 'policy') })
    const [definition] = project.agents.activeAgents
    expect([definition?.hooks, definition?.mcpServers]).toEqual([undefined, undefined])
  })

  it('name the key and the line that are wrong, and keep the others', async () => {
    await using world = createWorld()
    const file = world.write(
      'home/.claude/settings.json',
      '{\n  "enableAllProjectMcpServers": "yes",\n  "mcpServers": [],\n  "enabledMcpjsonServers": ["p"]\n}',
    )
    json(world, 'project/.mcp.json', servers('p'))
    const project = await world.open()
    const told = project.diagnostics.filter((diagnostic) => diagnostic.file === file)
    expect(told.map(({ code, line }) => [code, line]).sort()).toEqual([
      ['settings-field-unreadable', 2],
      ['settings-field-unreadable', 3],
    ])
    expect(project.mcpServers).toHaveLength(1)
  })

  it('are those that a link leads to outside the repository', async () => {
    await using world = createWorld()
    json(world, 'outside.json', servers('secret'))
    const links = ['project/.mcp.json', 'project/.claude/settings.json'].map((path) =>
      world.link(path, join(world.root, 'outside.json')),
    )
    const project = await world.open({ trust: true })
    expect(project.mcpServers).toEqual([])
    for (const link of links) expect(codesOf(project, link)).toEqual(['settings-outside'])
  })

  it('are a folder, or a .mcp.json that is broken', async () => {
    await using world = createWorld()
    world.write('project/.claude/settings.json/x')
    const mcpJson = world.write('project/.mcp.json', '{"mcpServers": {"a": 7}}')
    const project = await world.open({ trust: true })
    expect(codesOf(project, join(world.project, '.claude/settings.json'))).toEqual(['settings-unreadable'])
    expect(codesOf(project, mcpJson)).toEqual(['mcp-server-unreadable'])
  })
})
