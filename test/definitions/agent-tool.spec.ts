import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import {
  AGENT_TOOL_DESCRIPTION,
  agentInputSchema,
  agentListing,
  PLAIN_MOMENT,
} from '../../src/definitions/agent-tool.ts'
import { BUILT_IN_DEFINITIONS } from '../../src/definitions/built-in/index.ts'

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

  it('lists each agent once with what it is for and what it has', () => {
    const listing = agentListing(BUILT_IN_DEFINITIONS)
    expect(listing.split('\n')).toHaveLength(1 + BUILT_IN_DEFINITIONS.length)
    expect(listing).toContain('\n- general-purpose: ')
    expect(listing).toMatch(
      /\n- Explore: .*\(tools: all except Agent, ExitPlanMode, Edit, Write, NotebookEdit\)/u,
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
