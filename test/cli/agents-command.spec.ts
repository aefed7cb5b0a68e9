/** `troupe agents` on real folders, with the world of a terminal driven by hand. */
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parseArguments } from '../../src/cli/arguments.ts'
import { UsageError } from '../../src/cli/errors.ts'
import { main } from '../../src/cli/run-cli.ts'
import { agent, createWorld, type World } from '../effects/project/support/world.ts'
import { createFakeHost } from './support/fake-host.ts'
import { STEERS } from './support/steers.ts'

interface Said {
  readonly code: number
  readonly lines: readonly string[]
  readonly stdout: string
  readonly stderr: string
}

async function troupe(
  world: World,
  args: readonly string[],
  columns?: number,
  env: Record<string, string> = {},
): Promise<Said> {
  const fake = createFakeHost(['agents', ...args], {
    cwd: world.project,
    env,
    ...(columns !== undefined && { columns }),
  })
  const code = await main({ ...fake.host, userHome: world.home })
  const { stdout, stderr } = fake
  return { code, stdout, stderr, lines: stdout.split('\n').filter((line) => line !== '') }
}

const jsonLines = ({ lines }: Said): readonly Record<string, unknown>[] =>
  lines.map((line) => JSON.parse(line))

const WITHOUT_DESCRIPTION = '---\nname: broken\n---\nDo.\n'

describe('the command line', () => {
  const parse = (...argv: string[]) => parseArguments(argv, '1.2.3')

  it.each([
    [['agents'], { action: 'list', json: false }],
    [['agents', 'list', '--json'], { action: 'list', json: true }],
    [['agents', 'validate'], { action: 'validate', paths: [] }],
    [['agents', 'validate', 'a.md', 'b'], { action: 'validate', paths: ['a.md', 'b'] }],
    [['agents', 'show', 'x:y', '--json'], { action: 'show', name: 'x:y', json: true }],
    [
      [
        'agents',
        'list',
        '--agents',
        '{}',
        '--plugin-dir',
        'a',
        '--plugin-dir',
        'b',
        '--mcp-config',
        'c',
        'd',
        '--trust-project',
      ],
      {
        ...{ agents: '{}', pluginDirs: ['a', 'b'], mcpConfigs: ['c', 'd'], trustProject: true },
        ...{ settings: undefined, addDirs: [] },
      },
    ],
  ])('%j is understood', (argv, agents) => {
    expect(parse(...argv)).toMatchObject({ kind: 'agents', agents })
  })

  it('takes the same flags for a run', () => {
    const line = [
      '-p',
      '--agents',
      '{}',
      '--plugin-dir',
      'a',
      '--trust-project',
      '--agent',
      ' reviewer ',
      '--mcp-config',
      'c',
      '--',
      'go',
    ]
    expect(parse(...line)).toMatchObject({
      kind: 'run',
      run: {
        prompt: 'go',
        agents: '{}',
        agent: 'reviewer',
        pluginDirs: ['a'],
        mcpConfigs: ['c'],
        trustProject: true,
      },
    })
    expect(parse('-p', 'go')).toMatchObject({
      run: { agents: undefined, agent: undefined, pluginDirs: [], mcpConfigs: [], trustProject: false },
    })
  })

  it.each([
    [['agents', 'lst']],
    [['agents', 'show']],
    [['agents', 'show', 'a', 'b']],
    [['agents', 'list', '--plugin-dir', ' ']],
    [['agent']],
  ])('%j is no command', (argv) => {
    expect(() => parse(...argv)).toThrow(UsageError)
  })

  it('explains itself', () => {
    expect(parse('agents', '--help')).toMatchObject({
      kind: 'print',
      text: expect.stringContaining('validate'),
    })
  })
})

describe('troupe agents list', () => {
  it('shows each with its source, model, tools and file, then the shadowed, the inactive and the failed', async () => {
    await using world = createWorld()
    world.write(
      'project/.claude/agents/a.md',
      agent('p', 'reviewer', 'tools: Read, Bash(git log:*)\nmodel: opus\n'),
    )
    world.write('home/.claude/agents/a.md')
    world.write('project/.claude/agents/b.md', agent('p', 'needy', 'requiredMcpServers: [github]\n'))
    world.write('project/.claude/agents/broken.md', WITHOUT_DESCRIPTION)
    const { code, lines, stderr } = await troupe(world, ['list'])
    expect(code).toBe(0)
    const line = (start: string): string => lines.find((each) => each.startsWith(start)) ?? ''
    expect(line('reviewer  ').replace(/ +/g, ' ')).toBe(
      'reviewer project opus Read, Bash(git log:*) .claude/agents/a.md',
    )
    expect(line('Explore').replace(/ +/g, ' ')).toMatch(/^Explore built-in haiku all except /)
    const under = (title: string): readonly string[] =>
      lines.slice(lines.findIndex((each) => each.startsWith(title)) + 1)
    expect(under('Cannot be started now')[0]).toMatch(/needy.*github/)
    expect(under('Not in use')[0]).toMatch(
      /^reviewer {2}user {2}~\/\.claude\/agents\/a\.md {2}the one in use: project/,
    )
    expect(under('Failed')[0]).toMatch(/^\.claude\/agents\/broken\.md: .*description/)
    expect(stderr).toMatch(/1 error, \d+ warnings?; see troupe agents validate/)
  })

  it('gives a program one object a line', async () => {
    await using world = createWorld()
    const file = world.write('project/.claude/agents/a.md')
    const own = world.write('home/.claude/agents/a.md')
    const failed = world.write('project/.claude/agents/broken.md', WITHOUT_DESCRIPTION)
    const objects = jsonLines(await troupe(world, ['list', '--json']))
    const of = (name: string) => objects.filter((each) => each['name'] === name)
    expect(of('reviewer')).toMatchObject([
      {
        status: 'active',
        source: 'projectSettings',
        file,
        model: 'inherit',
        tools: ['*'],
        description: 'Reviews code',
      },
      {
        status: 'shadowed',
        source: 'userSettings',
        file: own,
        shadowed_by: { source: 'projectSettings', file },
      },
    ])
    expect(of('Explore')).toMatchObject([{ status: 'active', source: 'built-in' }])
    expect(objects.filter((each) => each['status'] === 'failed')).toMatchObject([{ file: failed }])
  })

  it('draws a name in the colour of its definition where there are colours, and the columns stay in line', async () => {
    await using world = createWorld()
    world.write('project/.claude/agents/a.md', agent('p', 'painted', 'color: red\n'))
    world.write('project/.claude/agents/b.md', agent('p', 'plain', 'color: ultraviolet\n'))
    const plain = await troupe(world, ['list'])
    const { stdout } = await troupe(world, ['list'], undefined, { FORCE_COLOR: '1' })
    expect(plain.stdout).not.toContain('\x1b')
    expect(stdout).toContain('\x1b[31mpainted\x1b[39m  ')
    expect(stdout).toMatch(/^plain {2}/m)
    expect(stripVTControlCharacters(stdout)).toBe(plain.stdout)
    const objects = jsonLines(await troupe(world, ['list', '--json']))
    expect(objects.find(({ name }) => name === 'painted')).toMatchObject({ color: 'red' })
    const shown = await troupe(world, ['show', 'painted'], undefined, { FORCE_COLOR: '1' })
    expect(shown.lines[0]).toContain('\x1b[31mpainted\x1b[39m')
    expect(shown.lines.find((line) => line.startsWith('  color '))).toMatch(/ \S+red\S+$/)
    expect((await troupe(world, ['show', 'plain'])).stdout).toMatch(/color +ultraviolet/)
  })

  it('shows agents of flags and plugins', async () => {
    await using world = createWorld()
    world.write('project/kit/agents/a.md')
    const { lines } = await troupe(world, [
      'list',
      '--plugin-dir',
      'kit',
      '--agents',
      '{"extra": {"description": "d", "prompt": "p"}}',
    ])
    expect(lines.filter((line) => /^(?:kit:reviewer +plugin|extra +flag) /.test(line))).toHaveLength(2)
  })

  it('lets no file speak to the terminal, and keeps to its width', async () => {
    await using world = createWorld()
    const evil = '\u001b]0;owned\u0007\u001b[31mred\u202e'
    world.write(
      `project/.claude/agents/${evil.replace('/', '')}.md`,
      `---\ndescription: "x"\nmodel: "${evil}"\ntools: ["${evil}", Read]\n---\np`,
    )
    world.write('project/.claude/agents/broken.md', `---\nname: "${evil}"\n---\n`)
    for (const args of [['list'], ['validate'], ['list', '--json'], ['validate', '--json']]) {
      const { stdout, stderr } = await troupe(world, args, 100)
      expect(stdout + stderr).not.toMatch(STEERS)
      expect(stdout + stderr).not.toContain('\t')
      if (args.join() === 'list')
        for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
    }
  })
})

describe('troupe agents validate', () => {
  it('names file, line and column of each problem, sorted, and exits with 1 for an error', async () => {
    await using world = createWorld()
    world.write('project/.claude/agents/b.md', agent('p', 'b', 'tools: Read, Grp\ncolour: red\n'))
    world.write('project/.claude/agents/a.md', WITHOUT_DESCRIPTION)
    const { code, lines, stderr } = await troupe(world, ['validate'])
    expect(code).toBe(1)
    expect(lines).toEqual([
      expect.stringMatching(/^\.claude\/agents\/a\.md:1:1: error: .* \[description-missing\]$/),
      expect.stringMatching(
        /^\.claude\/agents\/b\.md:4:14: warning: .*Grp.*Did you mean "Grep"\? \[tool-unknown\]$/,
      ),
      expect.stringMatching(/^\.claude\/agents\/b\.md:5:1: warning: .* \[(?:key-unknown|key-spelling)\]$/),
    ])
    expect(stderr).toBe('troupe: 1 agent, 1 failed, 1 error, 2 warnings\n')
  })

  it('exits with 0 when there are warnings only, and says so when there is nothing', async () => {
    await using world = createWorld()
    expect(await troupe(world, ['validate'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'troupe: 0 agents, nothing to say\n',
    })
    world.write('project/.claude/agents/b.md', agent('p', 'b', 'colour: red\n'))
    expect((await troupe(world, ['validate'])).code).toBe(0)
  })

  it('gives a program one object a problem', async () => {
    await using world = createWorld()
    const file = world.write('project/.claude/agents/a.md', WITHOUT_DESCRIPTION)
    expect(jsonLines(await troupe(world, ['validate', '--json']))).toEqual([
      {
        file,
        line: 1,
        column: 1,
        severity: 'error',
        code: 'description-missing',
        message: expect.any(String),
      },
    ])
  })

  it('looks at settings, plugins and flags too', async () => {
    await using world = createWorld()
    world.write('home/.claude/settings.json', '{')
    world.write('project/.mcp.json', '[]')
    const { stdout } = await troupe(world, [
      'validate',
      '--agents',
      '{"x"',
      '--plugin-dir',
      'none',
      '--mcp-config',
      'none.json',
    ])
    for (const code of [
      'settings-unreadable',
      'mcp-file-unreadable',
      'agents-json-unreadable',
      'plugin-unreadable',
      'mcp-config-unreadable',
    ])
      expect(stdout).toContain(`[${code}]`)
  })

  it('checks files and folders anywhere, and nothing else', async () => {
    await using world = createWorld()
    world.write('project/.claude/agents/a.md', WITHOUT_DESCRIPTION)
    world.write('elsewhere/deep/good.md')
    world.write('elsewhere/README.md', 'no agent, and no mistake')
    const named = world.write('named.txt', WITHOUT_DESCRIPTION)
    expect(await troupe(world, ['validate', '../elsewhere'])).toMatchObject({ code: 0, stdout: '' })
    const { code, lines } = await troupe(world, ['validate', '../elsewhere', named])
    expect(code).toBe(1)
    expect(lines).toEqual([expect.stringMatching(/named\.txt:1:1: error: .* \[description-missing\]$/)])
  })

  it('tells of a path that is not there, and of a named file that describes no agent', async () => {
    await using world = createWorld()
    world.write('project/README.md', 'text')
    const { code, lines } = await troupe(world, ['validate', 'README.md', 'no-such'])
    expect(code).toBe(1)
    expect(lines).toEqual([
      expect.stringMatching(/^README\.md:1:1: error: .* \[not-an-agent\]$/),
      expect.stringMatching(/^no-such:1:1: error: .* \[agent-file-unreadable\]$/),
    ])
  })

  it('follows no link out of a folder that it is given', async () => {
    await using world = createWorld()
    world.write('given/good.md')
    world.link('given/passwd.md', '/etc/passwd')
    const { code, stdout } = await troupe(world, ['validate', join(world.root, 'given')])
    expect(code).toBe(1)
    expect(stdout).toContain('[agent-file-outside]')
    expect(stdout).not.toContain('root:')
  })
})

describe('troupe agents show', () => {
  const FILE = agent(
    `Line one\n${'x'.repeat(2_000)}`,
    'reviewer',
    'tools: Read, Bash(git log:*)\nmodel: haiku\npermissionMode: bypassPermissions\nmaxTurns: 7\nskills: [missing]\nmcpServers: [github]\n',
  )

  it('tells each value with the rule that decided it, what tools are left and why, and who else has the name', async () => {
    await using world = createWorld()
    world.write('project/.claude/agents/a.md', FILE)
    world.write('home/.claude/agents/a.md')
    const { code, stdout } = await troupe(world, ['show', 'reviewer'])
    expect(code).toBe(0)
    for (const part of [
      /model +\S*haiku\S* +\(definition haiku\)/,
      /mode +default +\(parent: .*bypassPermissions, which is wider\)/,
      /maxTurns +7 +\(definition reviewer\)/,
      /^ {2}Read, Bash$/m,
      /only Bash\(git log:\*\)/,
      /without Agent +nesting: /,
      /skills +missing \(not there\)/,
      /mcpServers +github \(not there\)/,
      /Prompt \(2009 characters\)/,
      /Line one/,
      /user, ~\/\.claude\/agents\/a\.md/,
    ])
      expect(stdout).toMatch(part)
    expect(stdout.length).toBeLessThan(3_000)
  })

  it('gives a program one object', async () => {
    await using world = createWorld()
    const file = world.write('project/.claude/agents/a.md', FILE)
    const [shown] = jsonLines(await troupe(world, ['show', 'reviewer', '--json']))
    expect(shown).toMatchObject({
      name: 'reviewer',
      source: 'projectSettings',
      file,
      resolved: { maxTurns: { value: 7, rule: 'definition reviewer' } },
      tools: {
        kept: ['Read', 'Bash'],
        only: ['Bash(git log:*)'],
        dropped: [{ tool: 'Agent', step: 'nesting' }],
      },
      prompt: { characters: 2_009 },
      shadowed: [],
    })
  })

  it('says why one cannot be started', async () => {
    await using world = createWorld()
    world.write('project/.claude/agents/a.md', agent('p', 'needy', 'requiredMcpServers: [github]\n'))
    expect((await troupe(world, ['show', 'needy'])).stdout).toMatch(
      /needs MCP servers.*github.*\[mcp-servers-missing\]/,
    )
  })

  it('knows other names, and what was meant', async () => {
    await using world = createWorld()
    expect((await troupe(world, ['show', 'claude-code-guide'])).stdout).toMatch(/^troupe-guide {2}built-in/)
    const { code, stderr } = await troupe(world, ['show', 'Explor'])
    expect(code).toBe(1)
    expect(stderr).toContain('Did you mean "Explore"?')
  })
})
