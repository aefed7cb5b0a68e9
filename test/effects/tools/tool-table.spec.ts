import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Tool } from '../../../src/effects/tools/tool.ts'
import { createToolTable, standardTools } from '../../../src/effects/tools/tool-table.ts'

const tool = (name: string, aliases: readonly string[] = []): Tool => ({
  name,
  aliases,
  description: name,
  inputSchema: z.strictObject({}),
  resume: 'interrupt',
  isReadOnly: () => true,
  isConcurrencySafe: () => true,
  run: async () => ({ content: name }),
})

const NAMES = [
  ...['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'BashOutput', 'KillShell', 'NotebookEdit', 'WebFetch'],
  ...['TodoWrite', 'ExitPlanMode', 'AskUserQuestion'],
]
const table = createToolTable(standardTools())
const parse = (name: string, input: unknown): string => {
  const call = table.parseCall(name, input)
  return call.ok ? 'ok' : call.message
}

describe('finding a tool', () => {
  const found = createToolTable([
    tool('Agent', ['Task']),
    tool('Read'),
    tool('read_file', ['view']),
    tool('Open', ['View']),
  ])

  it.each([
    ['Agent', 'Agent'],
    ['Task', 'Agent'],
    ['TASK', 'Agent'],
    ['read', 'Read'],
    ['view', 'read_file'],
    ['View', 'Open'],
    ['VIEW', undefined],
    ['', undefined],
    ['toString', undefined],
  ])('%j is %s', (name, expected) => {
    expect(found.find(name)?.name).toBe(expected)
  })

  it('refuses two tools of one name', () => {
    expect(() => createToolTable([tool('A'), tool('A')])).toThrow('Two tools are named A')
  })
})

describe('definitions', () => {
  it('are strict JSON schemas without noise, in the given order', () => {
    const definitions = table.definitions()
    expect(definitions.map(({ name }) => name)).toEqual(NAMES)
    for (const { input_schema } of definitions) {
      expect(input_schema).toMatchObject({ type: 'object', additionalProperties: false })
      expect(input_schema).not.toHaveProperty('$schema')
      expect(JSON.stringify(input_schema)).not.toContain(String(Number.MAX_SAFE_INTEGER))
    }
    expect(definitions[0]?.input_schema).toEqual({
      type: 'object',
      properties: {
        file_path: { type: 'string', description: expect.any(String) },
        offset: { type: 'integer', minimum: 1, description: expect.any(String) },
        limit: { type: 'integer', minimum: 1, description: expect.any(String) },
      },
      required: ['file_path'],
      additionalProperties: false,
    })
  })

  it('have the same bytes every time', () => {
    const again = createToolTable(standardTools())
    expect(JSON.stringify(again.definitions())).toBe(JSON.stringify(table.definitions()))
  })
})

describe('checking a call', () => {
  it('hands on tool and input', () => {
    const call = table.parseCall('bash', { command: 'ls' })
    expect(call).toMatchObject({ ok: true, tool: { name: 'Bash' }, input: { command: 'ls' } })
  })

  it.each<[string, unknown, string]>([
    ['Nope', {}, `There is no tool Nope. Available: ${NAMES.join(', ')}.`],
    ['Read', {}, 'Read was not called. `file_path` is missing: a string is required.'],
    ['Read', { file_path: 3 }, 'Read was not called. `file_path` must be a string, not 3.'],
    ['Read', { file_path: 'a', limit: 0 }, 'Read was not called. `limit` must be at least 1, not 0.'],
    ['Read', { file_path: 'a', limit: 1.5 }, 'Read was not called. `limit` must be a whole number, not 1.5.'],
    [
      'Read',
      { file_path: 'a', path: 'b' },
      'Read was not called. `path` is no field of this tool: leave out.',
    ],
    [
      'Bash',
      { command: 'x', timeout: 600_001 },
      'Bash was not called. `timeout` must be at most 600000, not 600001.',
    ],
    ['Bash', { command: '' }, 'Bash was not called. `command` must not be shorter than 1 characters.'],
    [
      'Grep',
      { pattern: 'a', output_mode: 'lines' },
      'Grep was not called. `output_mode` must be "content" or "files_with_matches" or "count", not "lines".',
    ],
    ['Write', 'text', 'Write was not called. The input must be an object, not "text".'],
    ['Write', null, 'Write was not called. The input must be an object, not null.'],
    [
      'Write',
      { a: 1 },
      'Write was not called. `file_path` is missing: a string is required. `content` is missing: a string is required. `a` is no field of this tool: leave out.',
    ],
  ])('%s with %j', (name, input, message) => {
    expect(parse(name, input)).toBe(message)
  })
})

it('each standard tool says what rules and modes need to know', () => {
  const webSearch = { search: async () => [] }
  const facts = standardTools({ webSearch }).map((each) => {
    const input = {
      ...{ file_path: 'f', command: 'c', path: 'p', pattern: 'x', bash_id: 'b', shell_id: 's' },
      ...{
        notebook_path: 'n',
        url: 'http://example.org/a#b',
        query: 'q',
        todos: [],
        plan: '',
        questions: [],
      },
    }
    return [
      each.name,
      each.resume,
      each.isReadOnly(input),
      each.isConcurrencySafe(input),
      each.writes?.(input),
      each.ruleSubject?.(input),
      each.reachesOut?.(input) ?? false,
    ]
  })
  expect(facts).toEqual([
    ['Read', 'repeat', true, true, undefined, 'f', false],
    ['Write', 'keyed', false, false, 'f', 'f', false],
    ['Edit', 'keyed', false, false, 'f', 'f', false],
    ['Glob', 'repeat', true, true, undefined, 'p', false],
    ['Grep', 'repeat', true, true, undefined, 'p', false],
    ['Bash', 'interrupt', false, false, undefined, 'c', false],
    ['BashOutput', 'repeat', true, false, undefined, 'b', false],
    ['KillShell', 'repeat', true, true, undefined, 's', false],
    ['NotebookEdit', 'keyed', false, false, 'n', 'n', false],
    ['WebFetch', 'repeat', true, true, undefined, 'https://example.org/a', true],
    ['WebSearch', 'repeat', true, true, undefined, 'q', true],
    ['TodoWrite', 'repeat', true, false, undefined, undefined, false],
    ['ExitPlanMode', 'repeat', true, false, undefined, undefined, false],
    ['AskUserQuestion', 'repeat', true, false, undefined, undefined, false],
  ])
})

it('offers WebSearch only with a search engine, and all tools in one order', () => {
  expect(standardTools().map(({ name }) => name)).toEqual(NAMES)
  const names = standardTools({ webSearch: { search: async () => [] } }).map(({ name }) => name)
  expect(names.filter((name) => name !== 'WebSearch')).toEqual(NAMES)
  expect(names.indexOf('WebSearch')).toBe(names.indexOf('WebFetch') + 1)
})
