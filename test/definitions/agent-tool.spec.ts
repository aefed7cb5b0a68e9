import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import { agentListing, agentListingChange } from '../../src/definitions/agent-listing.ts'
import {
  AGENT_TOOL_DESCRIPTION,
  agentInputSchema,
  agentToolDescription,
  agentToolMoment,
  PLAIN_MOMENT,
} from '../../src/definitions/agent-tool.ts'
import { FORK } from '../../src/definitions/built-in/fork.ts'
import { BUILT_IN_DEFINITIONS } from '../../src/definitions/built-in/index.ts'
import { DEFAULT_FEATURES, type Features } from '../../src/definitions/features.ts'

const task = { description: 'find it', prompt: 'Find it.' }

/** Field names that a model is shown. */
function fieldsOf(schema: z.ZodType): readonly string[] {
  return Object.keys(z.toJSONSchema(schema, { io: 'input' }).properties ?? {})
}

describe('the input of Agent', () => {
  it('offers the task, the type and the model, and says that nothing else is taken', () => {
    const json = z.toJSONSchema(agentInputSchema(), { io: 'input' })
    expect(Object.keys(json.properties ?? {})).toEqual(['description', 'prompt', 'subagent_type', 'model'])
    expect(json).toMatchObject({ required: ['description', 'prompt'], additionalProperties: false })
    for (const property of Object.values(json.properties ?? {}))
      expect(property).toMatchObject({ description: expect.stringMatching(/\S/u) })
  })

  it.each([
    ['background', ['run_in_background']],
    ['teams', ['name', 'team_name', 'mode']],
    ['isolation', ['isolation']],
    ['cwd', ['cwd']],
  ] as const)('offers with %s: %j', (key, added) => {
    const fields = fieldsOf(agentInputSchema({ ...PLAIN_MOMENT, [key]: true }))
    expect(fields).toEqual([...fieldsOf(agentInputSchema()), ...added])
  })

  it('offers the kinds of isolation that there are, in words', () => {
    const isolationOf = (moment: object) =>
      z.toJSONSchema(agentInputSchema({ ...PLAIN_MOMENT, ...moment }), { io: 'input' }).properties?.[
        'isolation'
      ]
    expect(isolationOf({})).toBeUndefined()
    expect(isolationOf({ isolation: true })).toMatchObject({ enum: ['worktree'] })
    expect(isolationOf({ remote: true })).toMatchObject({
      enum: ['remote'],
      description: expect.not.stringContaining('worktree'),
    })
    expect(isolationOf({ isolation: true, remote: true })).toMatchObject({ enum: ['worktree', 'remote'] })
  })

  it('says what a call without a type starts', () => {
    const typeOf = (moment: object) =>
      z.toJSONSchema(agentInputSchema({ ...PLAIN_MOMENT, ...moment }), { io: 'input' }).properties?.[
        'subagent_type'
      ]
    expect(typeOf({})).toMatchObject({ description: expect.stringContaining('general-purpose') })
    expect(typeOf({ fork: true })).toMatchObject({
      description: expect.stringContaining('a fork of yourself'),
    })
    expect(typeOf({ coordinator: true })).toMatchObject({ description: expect.stringContaining('worker') })
  })

  it('has no model where that argument does not count', () => {
    expect(fieldsOf(agentInputSchema({ ...PLAIN_MOMENT, model: false }))).not.toContain('model')
  })

  it.each<[Partial<Features>, readonly string[]]>([
    [{}, ['run_in_background']],
    [{ background: false }, []],
    [{ background: true, fork: true }, []],
    [{ background: true, coordinator: true }, []],
    [{ background: true, forceBackground: true }, []],
    [{ background: false, worktree: true, cwdArgument: true }, ['isolation', 'cwd']],
    [{ names: true }, ['run_in_background', 'name']],
    [{ names: true, background: false }, []],
    [{ background: false, teams: true }, ['name', 'team_name', 'mode']],
  ])('offers under %j beyond the plain fields %j', (features, added) => {
    const moment = agentToolMoment({ ...DEFAULT_FEATURES, worktree: false, ...features })
    expect(fieldsOf(agentInputSchema(moment))).toEqual([...fieldsOf(agentInputSchema()), ...added])
  })

  it('offers a teammate neither a team nor, in this process, the background', () => {
    const features = { ...DEFAULT_FEATURES, worktree: false, teams: true, background: true }
    const fieldsFor = (backend: 'in-process' | 'tmux') =>
      fieldsOf(agentInputSchema(agentToolMoment(features, { teammate: { backend } })))
    expect(fieldsFor('in-process')).toEqual(fieldsOf(agentInputSchema()))
    expect(fieldsFor('tmux')).toContain('run_in_background')
  })

  it.each([
    [{ ...task }, true],
    [{ ...task, subagent_type: 'Explore', model: 'haiku' }, true],
    [{ ...task, model: 'gpt' }, false],
    [{ ...task, run_in_background: true }, false],
    [{ ...task, cwd: '/x' }, false],
    [{ ...task, unknown: 1 }, false],
    [{ ...task, prompt: ' \n' }, false],
    [{ ...task, description: '' }, false],
    [{ prompt: 'x' }, false],
  ])('on %j: %j', (value, isTaken) => {
    expect(agentInputSchema().safeParse(value).success).toBe(isTaken)
  })

  it('names the field that it refuses', () => {
    const parsed = agentInputSchema().safeParse({ ...task, isolation: 'worktree' })
    expect(parsed.error?.issues[0]).toMatchObject({ code: 'unrecognized_keys', keys: ['isolation'] })
  })
})

describe('what a model is told', () => {
  it('names no agent in the description, which is the same whatever agents there are', () => {
    for (const { agentType } of BUILT_IN_DEFINITIONS) expect(AGENT_TOOL_DESCRIPTION).not.toContain(agentType)
  })

  it('explains forks only where there are any, and coordinates in few words', () => {
    expect(agentToolDescription()).toBe(AGENT_TOOL_DESCRIPTION)
    const withBackground = agentToolDescription({ ...PLAIN_MOMENT, background: true })
    expect(withBackground.startsWith(AGENT_TOOL_DESCRIPTION)).toBe(true)
    expect(withBackground).toContain('run_in_background')
    const withFork = agentToolDescription({ ...PLAIN_MOMENT, fork: true })
    expect(withFork.startsWith(AGENT_TOOL_DESCRIPTION)).toBe(true)
    expect(withFork).toMatch(/\nForks\n/u)
    expect(AGENT_TOOL_DESCRIPTION).not.toMatch(/\bforks?\b/iu)
    const short = agentToolDescription({ ...PLAIN_MOMENT, coordinator: true })
    expect(short.length).toBeLessThan(AGENT_TOOL_DESCRIPTION.length / 2)
  })

  it('does not list what is not to be listed', () => {
    expect(agentListing([FORK])).toMatch(/No agents/u)
  })

  it('lists each agent once with what it is for and what it has', () => {
    const listing = agentListing(BUILT_IN_DEFINITIONS)
    expect(listing.split('\n')).toHaveLength(1 + BUILT_IN_DEFINITIONS.length)
    expect(listing).toContain('\n- general-purpose: ')
    expect(listing).toMatch(
      /\n- Explore: .*\(tools: all except Agent, ExitPlanMode, Edit, Write, NotebookEdit, AskParent, ListAgents, SendMessage\)/u,
    )
  })

  it('says so when there is none', () => {
    expect(agentListing([])).toMatch(/No agents/u)
  })

  it('lets no text of a definition look like an entry of its own', () => {
    const definition = (whenToUse: string): AgentDefinition => ({
      agentType: 'x',
      whenToUse,
      getSystemPrompt: () => '',
      tools: [],
      source: 'projectSettings',
    })
    fc.assert(
      fc.property(fc.array(fc.constantFrom('\n', '\r', '\u2028', '- y: ', 'text')), (parts) => {
        const lines = agentListing([definition(parts.join(''))]).split(/[\n\r\u2028]/u)
        expect(lines.filter((line) => line.startsWith('- '))).toHaveLength(1)
      }),
    )
  })
})

describe('a change of the list', () => {
  const define = (agentType: string, whenToUse = `for ${agentType}`): AgentDefinition => ({
    agentType,
    whenToUse,
    getSystemPrompt: () => '',
    source: 'projectSettings',
  })
  const many = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => define(name, `${name} `.repeat(40)))
  const listing = agentListing(many)

  it('is the whole list when there was none, and nothing when it is the same', () => {
    expect(agentListingChange(undefined, listing)).toBe(listing)
    expect(agentListingChange(listing, listing)).toBeUndefined()
    expect(agentListingChange(listing, agentListing([...many].reverse()))).toBeUndefined()
  })

  it('names what is gone and shows what is new or different, and nothing else', () => {
    const [first, second, ...rest] = many
    if (first === undefined || second === undefined) throw new Error('too few')
    const next = agentListing([
      { ...second, whenToUse: 'changed\n- not an entry' },
      ...rest,
      define('plugin:g'),
    ])
    expect(agentListingChange(listing, next)).toBe(
      [
        'The agents available for the Agent tool have changed.',
        'No longer available: a.',
        'New or different:',
        '- b: changed',
        '  - not an entry (tools: all)',
        '- plugin:g: for plugin:g (tools: all)',
      ].join('\n'),
    )
  })

  it('is the whole list where that is shorter, and says so when there is none any more', () => {
    const next = agentListing([define('z')])
    expect(agentListingChange(listing, next)).toContain(next)
    expect(agentListingChange(listing, agentListing([]))).toBe(agentListing([]))
  })

  it('always mentions every agent that came or changed, and every one that went', () => {
    const subsets = fc.subarray(['a', 'bb', 'ccc', 'dd'])
    fc.assert(
      fc.property(subsets, subsets, fc.boolean(), (before, after, isReworded) => {
        const previous = agentListing(before.map((name) => define(name)))
        const current = agentListing(after.map((name) => define(name, isReworded ? 'new' : undefined)))
        const change = agentListingChange(previous, current)
        const fresh = after.filter((name) => isReworded || !before.includes(name))
        const gone = before.filter((name) => !after.includes(name))
        if (change === undefined) {
          expect([fresh, gone]).toEqual([[], []])
          return
        }
        for (const name of fresh) expect(change).toContain(`\n- ${name}: `)
        // Either the whole list stands there, or those that went are named.
        if (!change.includes(current)) expect(change.includes('No longer available:')).toBe(gone.length > 0)
        if (!change.includes(current))
          for (const name of gone) expect(change).toMatch(new RegExp(`: .*\\b${name}\\b`, 'u'))
      }),
    )
  })
})
