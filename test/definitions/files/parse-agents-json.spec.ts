/** Agents as JSON: both forms, and whatever else somebody may give. */
import { describe, expect, it } from 'vitest'
import type { FileOrigin } from '../../../src/definitions/files/agent-file.ts'
import { parseAgentsJson } from '../../../src/definitions/files/parse-agents-json.ts'
import { agentOf, asData, codesOf, fileOf } from './support.ts'

const FLAG: FileOrigin = { path: '--agents', source: 'flagSettings' }

/** Reads JSON of which each agent must be one, by name. */
function agentsOf(json: unknown, origin = FLAG): Readonly<Record<string, unknown>> {
  const files = parseAgentsJson(json, origin)
  return Object.fromEntries(
    files.map((file) =>
      file.kind === 'agent' ? [file.definition.agentType, asData(file.definition)] : ['failed', file],
    ),
  )
}

describe('agents as JSON', () => {
  const reviewer = { description: 'Reviews.', prompt: 'You review.', tools: ['Read', 'Grep'], model: 'opus' }

  it('are read below `agents` and without it, as text and as a value', () => {
    const forms = [{ agents: { reviewer } }, { reviewer }]
    const wanted = {
      reviewer: {
        agentType: 'reviewer',
        whenToUse: 'Reviews.',
        tools: ['Read', 'Grep'],
        model: 'opus',
        prompt: 'You review.',
        source: 'flagSettings',
        filename: '--agents',
      },
    }
    for (const form of forms) {
      expect(agentsOf(form)).toEqual(wanted)
      expect(agentsOf(JSON.stringify(form))).toEqual(wanted)
      expect(agentsOf(`\ufeff${JSON.stringify(form, null, 2)}`)).toEqual(wanted)
    }
  })

  it('may be called "agents"', () => {
    expect(Object.keys(agentsOf({ agents: reviewer }))).toEqual(['agents'])
  })

  it('go through the same table as files', () => {
    const fields = {
      permissionMode: 'plan',
      maxTurns: 3,
      skills: 'a, b',
      memory: 'user',
      disallowedTools: 'Write',
    }
    const [file] = parseAgentsJson({ a: { description: 'b', prompt: 'You review.', ...fields } }, FLAG)
    const lines = Object.entries(fields).map(([key, value]) => `${key}: ${value}`)
    const other = agentOf(fileOf('description: b', ...lines, 'name: a'), FLAG)
    expect(file?.kind === 'agent' && asData(file.definition)).toEqual(asData(other.definition))
  })

  it('of a plugin have its name, and other keys of the plugin are its own business', () => {
    const origin: FileOrigin = { path: '/p/plugin.json', source: 'plugin', plugin: 'kit' }
    const files = parseAgentsJson({ name: 'kit', version: '1.0.0', agents: { reviewer } }, origin)
    expect(files.flatMap((file) => codesOf(file))).toEqual([])
    expect(Object.keys(agentsOf({ agents: { reviewer } }, origin))).toEqual(['kit:reviewer'])
  })

  it('of a flag have nothing beside them, which is said', () => {
    const files = parseAgentsJson({ agents: { reviewer }, tester: reviewer }, FLAG)
    expect(files.map(({ kind }) => kind)).toEqual(['agent', 'not-an-agent'])
    expect(files.flatMap((file) => codesOf(file))).toEqual(['warning key-unknown'])
  })

  it('stay when another of them is bad', () => {
    const files = parseAgentsJson(
      { reviewer, broken: 3, silent: { prompt: 'x' }, wild: { ...reviewer, tools: 3 } },
      FLAG,
    )
    expect(files.map(({ kind }) => kind)).toEqual(['agent', 'failed', 'failed', 'failed'])
    expect(files.flatMap((file) => codesOf(file))).toEqual([
      'error agents-json-unreadable',
      'error description-missing',
      'error field-unreadable',
    ])
  })

  it.each([
    ['no JSON', '{ agents: '],
    ['nothing', ''],
    ['a list', []],
    ['a text', '"agents"'],
    ['null', null],
    ['a list of agents', { agents: [reviewer] }],
    ['a path', { agents: './agents' }],
    ['a function', () => reviewer],
    ['too much nesting', JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`)],
  ])('are one failed file when they are %s', (_, json) => {
    const files = parseAgentsJson(json, FLAG)
    expect(files).toMatchObject([{ kind: 'failed', file: '--agents', diagnostics: [{ severity: 'error' }] }])
  })

  it('never throw, also when reading them does', () => {
    const trap = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no')
        },
      },
    )
    const cycle: Record<string, unknown> = { reviewer }
    cycle['self'] = cycle
    for (const json of [trap, cycle, { a: trap }, Symbol('a'), 10n])
      expect(parseAgentsJson(json, FLAG)).toMatchObject([{ kind: 'failed' }])
  })

  it('take no prototype from a key', () => {
    const files = parseAgentsJson(
      '{"__proto__": {"tools": 1}, "a": {"__proto__": {"tools": "Bash"}, "description": "b", "prompt": "c"}}',
      FLAG,
    )
    expect(files).toHaveLength(1)
    expect(files[0]).toMatchObject({ kind: 'agent', definition: { agentType: 'a' } })
    expect(files[0]?.kind === 'agent' && files[0].definition.tools).toBe(undefined)
  })
})
