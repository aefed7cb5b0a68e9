/** Which of several definitions counts, and that the others are named. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AgentDefinition, DefinitionSource } from '../../../src/definitions/agent-definition.ts'
import type { AgentFile } from '../../../src/definitions/files/agent-file.ts'
import { parseAgentFile } from '../../../src/definitions/files/parse-agent-file.ts'
import { createAgentRegistry } from '../../../src/definitions/files/registry.ts'
import { fileOf, goodFile } from './support.ts'

/** Strongest first. */
const SOURCES = [
  'policySettings',
  'flagSettings',
  'localSettings',
  'projectSettings',
  'userSettings',
  'plugin',
] as const

const file = (
  source: DefinitionSource,
  name: string,
  path = `/${source}/${name}.md`,
  ...lines: string[]
): AgentFile => parseAgentFile(fileOf(`name: ${name}`, 'description: b', ...lines), { path, source })

const builtIn = (agentType: string): AgentDefinition => ({
  agentType,
  whenToUse: 'b',
  getSystemPrompt: () => 'x',
  source: 'built-in',
})

const winners = (files: readonly AgentFile[], more: readonly AgentDefinition[] = []) =>
  createAgentRegistry(files, more).activeAgents.map(({ agentType, filename, source }) => [
    agentType,
    filename ?? source,
  ])

describe('of two definitions with one name', () => {
  it.each(SOURCES.map((source, i) => [source, SOURCES[i + 1] ?? 'built-in'] as const))(
    '%s wins over %s',
    (strong, weak) => {
      const loser = weak === 'built-in' ? [] : [file(weak, 'a')]
      const registry = createAgentRegistry([...loser, file(strong, 'a')], [builtIn('a')])
      expect(registry.activeAgents).toMatchObject([{ source: strong }])
      expect(registry.allAgents[0]).toMatchObject({ definition: { source: strong }, shadowedBy: undefined })
      for (const { shadowedBy } of registry.allAgents.slice(1))
        expect(shadowedBy).toBe(registry.activeAgents[0])
      expect(registry.allAgents.map(({ definition }) => definition.source)).toContain(weak)
    },
  )

  it('in one place the first by path wins, and both are named', () => {
    const files = [file('userSettings', 'a', '/u/z.md'), file('userSettings', 'a', '/u/b.md')]
    const { activeAgents, diagnostics } = createAgentRegistry(files, [])
    expect(activeAgents).toMatchObject([{ filename: '/u/b.md' }])
    expect(diagnostics).toMatchObject([{ severity: 'warning', code: 'agent-shadowed', file: '/u/z.md' }])
    expect(diagnostics[0]?.message).toContain('/u/b.md')
    expect(diagnostics[0]?.message).toContain('/u/z.md')
  })

  it('in folders of one project the nearer wins', () => {
    const outer = file('projectSettings', 'a', '/repo/.claude/agents/a.md')
    const inner = file('projectSettings', 'a', '/repo/packages/x/.claude/agents/z.md')
    expect(winners([outer, inner])).toEqual([['a', '/repo/packages/x/.claude/agents/z.md']])
  })

  it('both stay where the names differ in case', () => {
    expect(winners([file('userSettings', 'A'), file('userSettings', 'a')])).toHaveLength(2)
  })

  it('a built-in that is shadowed is named in a diagnostic of the file that does it', () => {
    const { diagnostics } = createAgentRegistry([file('userSettings', 'Plan')], [builtIn('Plan')])
    expect(diagnostics).toMatchObject([{ code: 'agent-shadowed', file: '/userSettings/Plan.md' }])
  })
})

describe('the registry', () => {
  it('lists failed files with the reason, and leaves out what is no agent', () => {
    const failed = parseAgentFile(fileOf('name: a'), { path: '/u/a.md', source: 'userSettings' })
    const page = parseAgentFile('# Agents', { path: '/u/README.md', source: 'userSettings' })
    const registry = createAgentRegistry([failed, page], [])
    expect(registry).toMatchObject({ activeAgents: [], allAgents: [] })
    expect(registry.failedFiles).toEqual([
      { file: '/u/a.md', reason: expect.stringContaining('description') },
    ])
  })

  const anyFile = fc
    .record({
      source: fc.constantFrom(...SOURCES),
      name: fc.constantFrom('a', 'b', 'Explore', 'fail'),
      path: fc.constantFrom('/r/.claude/agents/', '/r/p/.claude/agents/', '/x/'),
      id: fc.nat(5),
    })
    .map(({ source, name, path, id }) =>
      parseAgentFile(name === 'fail' ? fileOf('name: x') : fileOf(`name: ${name}`, 'description: b'), {
        path: `${path}${source}-${id}.md`,
        source,
      }),
    )
  const anyFiles = fc.uniqueArray(anyFile, {
    selector: (each) => (each.kind === 'agent' ? each.definition.filename : each.file),
    maxLength: 12,
  })

  it('does not depend on the order in which files were found', () => {
    const property = fc.property(anyFiles, fc.infiniteStream(fc.nat()), (files, keys) => {
      const shuffled = files.map((each) => [keys.next().value, each] as const).toSorted(([a], [b]) => a - b)
      const one = createAgentRegistry(files, [builtIn('Explore')])
      const other = createAgentRegistry(
        shuffled.map(([, each]) => each),
        [builtIn('Explore')],
      )
      // The built-in definitions of the two are two.
      expect(JSON.stringify(other)).toBe(JSON.stringify(one))
    })
    fc.assert(property, { numRuns: 100 })
  })

  it('has one active definition for each name, forgets none, and names every loser', () => {
    const property = fc.property(anyFiles, (files) => {
      const agents = files.filter(({ kind }) => kind === 'agent')
      const { activeAgents, allAgents, failedFiles, diagnostics } = createAgentRegistry(files, [
        builtIn('Explore'),
      ])
      const names = activeAgents.map(({ agentType }) => agentType)
      expect(names).toEqual([...new Set(names)].toSorted())
      expect(allAgents).toHaveLength(agents.length + 1)
      expect(failedFiles).toHaveLength(files.length - agents.length)
      const losers = allAgents.filter(({ shadowedBy }) => shadowedBy !== undefined)
      expect(losers).toHaveLength(allAgents.length - activeAgents.length)
      expect(diagnostics.filter(({ code }) => code === 'agent-shadowed')).toHaveLength(losers.length)
      for (const { definition, shadowedBy } of losers) {
        expect(activeAgents).toContain(shadowedBy)
        const rank = (each: AgentDefinition | undefined) =>
          [...SOURCES, 'built-in'].indexOf(each?.source ?? '')
        expect(rank(shadowedBy)).toBeLessThanOrEqual(rank(definition))
      }
    })
    fc.assert(property, { numRuns: 100 })
  })
})

describe('with strictPluginOnlyCustomization', () => {
  const lines = [
    'tools: Read, mcp__x__y',
    'hooks: [{event: Stop, command: ./x}]',
    'mcpServers: [x]',
    'disallowedTools: Bash',
  ]
  const registryOf = (source: DefinitionSource, strict: boolean | ('hooks' | 'mcp' | 'tools')[]) =>
    createAgentRegistry([file(source, 'a', '/a.md', ...lines)], [], { strictPluginOnlyCustomization: strict })

  it.each(['userSettings', 'projectSettings', 'localSettings', 'flagSettings'] as const)(
    'agents of %s run without hooks and servers of their own, which is said',
    (source) => {
      const { activeAgents, diagnostics } = registryOf(source, true)
      expect(activeAgents).toHaveLength(1)
      expect(activeAgents[0]).not.toHaveProperty('hooks')
      expect(activeAgents[0]).not.toHaveProperty('mcpServers')
      // The list stays as a limit: without it the agent would have all tools.
      expect(activeAgents[0]).toMatchObject({ tools: ['Read'], disallowedTools: ['Bash'] })
      expect(diagnostics).toMatchObject([{ code: 'field-untrusted', file: '/a.md' }])
    },
  )

  it.each(['plugin', 'policySettings'] as const)('agents of %s keep all that they have', (source) => {
    const { activeAgents, diagnostics } = registryOf(source, true)
    expect(activeAgents[0]).toMatchObject({ tools: ['Read', 'mcp__x__y'], hooks: [{}], mcpServers: ['x'] })
    expect(diagnostics).toEqual([])
  })

  it('only the surfaces that are named are closed', () => {
    const [withoutHooks] = registryOf('userSettings', ['hooks']).activeAgents
    expect(withoutHooks).not.toHaveProperty('hooks')
    expect(withoutHooks).toMatchObject({ mcpServers: ['x'], tools: ['Read', 'mcp__x__y'] })
    const [withoutServers] = registryOf('userSettings', ['mcp']).activeAgents
    expect(withoutServers).toMatchObject({ hooks: [{}], tools: ['Read', 'mcp__x__y'] })
    expect(withoutServers).not.toHaveProperty('mcpServers')
    expect(registryOf('userSettings', false).activeAgents[0]).toMatchObject({
      hooks: [{}],
      mcpServers: ['x'],
    })
  })

  it('a list of which nothing is left means no tools, never all', () => {
    const files = [file('userSettings', 'a', '/a.md', 'tools: mcp__x__y')]
    const { activeAgents } = createAgentRegistry(files, [], { strictPluginOnlyCustomization: ['tools'] })
    expect(activeAgents[0]?.tools).toEqual([])
  })

  it('an agent that has none of it is not touched', () => {
    const files = [parseAgentFile(goodFile('tools: Read'), { path: '/a.md', source: 'userSettings' })]
    const { diagnostics, activeAgents } = createAgentRegistry(files, [], {
      strictPluginOnlyCustomization: true,
    })
    expect(diagnostics).toEqual([])
    expect(activeAgents[0]?.tools).toEqual(['Read'])
  })
})
