import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EXPLORE } from '../../src/definitions/built-in/explore.ts'
import { GENERAL_PURPOSE } from '../../src/definitions/built-in/general-purpose.ts'
import { resolveToolPool, type ToolPool, type ToolPoolOptions } from '../../src/definitions/tool-pool.ts'

const ALL = [
  'Agent',
  'Bash',
  'Edit',
  'Glob',
  'Grep',
  'Read',
  'Write',
  'ExitPlanMode',
  'mcp__git__log',
  'mcp__git__add',
]
const READING = ['Agent', 'Glob', 'Grep', 'Read', 'mcp__git__log']
const child: ToolPoolOptions = {
  isChild: true,
  nestingAllowed: false,
  mode: 'default',
  isReadOnlyTool: (name) => READING.includes(name),
}
const root: ToolPoolOptions = { ...child, isChild: false }

const poolOf = (
  definition: { readonly tools?: readonly string[]; readonly disallowedTools?: readonly string[] },
  options: ToolPoolOptions = child,
): ToolPool => resolveToolPool(ALL, { agentType: 'tester', ...definition }, options)

/** The tools of a pool that must have been resolved. */
function toolsOf(...args: Parameters<typeof poolOf>): readonly string[] {
  const pool = poolOf(...args)
  if (pool.kind === 'refused') throw new Error(pool.message)
  return pool.tools
}

const FOR_CHILDREN = ['Bash', 'Edit', 'Glob', 'Grep', 'Read', 'Write', 'mcp__git__log', 'mcp__git__add']

describe('the tools of an agent', () => {
  it('are all that a child may have when nothing or a star is listed', () => {
    expect(toolsOf({})).toEqual(FOR_CHILDREN)
    expect(toolsOf({ tools: ['*'] })).toEqual(FOR_CHILDREN)
    expect(toolsOf({}, root)).toEqual(ALL)
  })

  it('are none when the list is empty', () => {
    expect(poolOf({ tools: [] })).toMatchObject({ kind: 'resolved', tools: [], diagnostics: [] })
  })

  it('include Agent for a child only where nesting is on', () => {
    expect(toolsOf({ tools: ['Agent', 'Read'] })).toEqual(['Read'])
    expect(toolsOf({ tools: ['Agent', 'Read'] }, { ...child, nestingAllowed: true })).toEqual([
      'Agent',
      'Read',
    ])
  })

  it('are named without regard to case, in the order in which they are offered', () => {
    expect(toolsOf({ tools: ['write', ' READ ', 'mcp__GIT__log'] })).toEqual([
      'Read',
      'Write',
      'mcp__git__log',
    ])
  })

  it('may be all tools of an MCP server', () => {
    expect(toolsOf({ tools: ['mcp__git__*'] })).toEqual(['mcp__git__log', 'mcp__git__add'])
    expect(toolsOf({ tools: ['mcp__git'] })).toEqual(['mcp__git__log', 'mcp__git__add'])
    expect(toolsOf({ disallowedTools: ['mcp__git__*'] })).not.toContain('mcp__git__add')
  })

  it('are without those disallowed', () => {
    expect(toolsOf({ tools: ['Read', 'Edit'], disallowedTools: ['edit'] })).toEqual(['Read'])
    expect(toolsOf({ disallowedTools: ['*'] })).toEqual([])
  })

  it('are the reading ones in plan', () => {
    expect(toolsOf({}, { ...child, mode: 'plan' })).toEqual(['Glob', 'Grep', 'Read', 'mcp__git__log'])
  })

  it('of the built-in agents are as documented, without a diagnostic', () => {
    const explore = resolveToolPool(ALL, EXPLORE, child)
    expect(explore).toMatchObject({
      tools: ['Bash', 'Glob', 'Grep', 'Read', 'mcp__git__log', 'mcp__git__add'],
      diagnostics: [],
    })
    expect(resolveToolPool(ALL, GENERAL_PURPOSE, child)).toMatchObject({
      tools: FOR_CHILDREN,
      diagnostics: [],
    })
  })

  it('never hold what the definition excludes or a child may not have, and keep the order offered', () => {
    const names = fc.array(fc.constantFrom(...ALL, '*', 'mcp__git', 'Nonsense', 'bash', 'Bash(ls:*)'))
    fc.assert(
      fc.property(names, names, (tools, disallowedTools) => {
        const pool = poolOf({ tools, disallowedTools })
        if (pool.kind === 'refused') return
        expect(pool.tools).toEqual(ALL.filter((name) => pool.tools.includes(name)))
        for (const name of [...disallowedTools, 'Agent', 'ExitPlanMode'])
          expect(pool.tools).not.toContain(name)
      }),
    )
  })
})

describe('what a list cannot have', () => {
  it('is dropped and named: an unknown name with a suggestion, a known one as not offered', () => {
    const pool = poolOf({ tools: ['Raed', 'WebFetch', 'Read'] })
    expect(pool.diagnostics.map(({ code, message }) => [code, message])).toEqual([
      [
        'tool-unknown',
        'The tool "Raed" in tools of tester is not known and was left out. Did you mean "Read"?',
      ],
      ['tool-not-offered', 'The tool "WebFetch" in tools of tester is not offered here and was left out.'],
    ])
  })

  it('is an error where a tool should have been excluded, and silent where it is merely not offered', () => {
    expect(poolOf({ disallowedTools: ['Wirte', 'NotebookEdit', 'mcp__x__y'] }).diagnostics).toEqual([
      expect.objectContaining({ severity: 'error', code: 'tool-unknown' }),
    ])
  })

  it('refuses an agent of whose list nothing is left, with each name and reason', () => {
    const pool = poolOf(
      { tools: ['Edit', 'Agent', 'Bash', 'Foo', 'Bash('], disallowedTools: ['Bash'] },
      { ...child, mode: 'plan' },
    )
    expect(pool).toMatchObject({ kind: 'refused', code: 'no-tools-left' })
    if (pool.kind !== 'refused') return
    for (const part of [
      '"tester"',
      'Foo (not offered here)',
      'Bash( (cannot be read)',
      'Agent (agents at this depth start no others)',
      'Bash (it is in disallowedTools)',
      'Edit (mode "plan" leaves reading tools only)',
    ])
      expect(pool.message).toContain(part)
  })
})

describe('entries with a specifier', () => {
  it('name the agents that may be started', () => {
    const nesting = { ...child, nestingAllowed: true }
    expect(poolOf({ tools: ['Agent(a, b)', 'Task(c)'] }, nesting)).toMatchObject({
      allowedAgentTypes: ['a', 'b', 'c'],
    })
    expect(poolOf({ tools: ['Agent(a)', 'Agent'] }, nesting)).toMatchObject({ allowedAgentTypes: undefined })
    expect(poolOf({ tools: ['Read'] }, nesting)).toMatchObject({ allowedAgentTypes: undefined })
  })

  it('limit the calls of a tool, unless it is listed whole as well', () => {
    expect(poolOf({ tools: ['Bash(git log:*)', 'Read'] })).toMatchObject({
      tools: ['Bash', 'Read'],
      only: [{ text: 'Bash(git log:*)', inheritable: false }],
    })
    expect(poolOf({ tools: ['Bash(git log:*)', 'Bash'] })).toMatchObject({ only: [] })
  })

  it('forbid calls and leave the tool when they are in disallowedTools', () => {
    expect(poolOf({ tools: ['Bash'], disallowedTools: ['Bash(rm:*)'] })).toMatchObject({
      tools: ['Bash'],
      deny: [{ text: 'Bash(rm:*)', source: 'disallowedTools of tester', inheritable: false }],
    })
  })

  it('that mean nothing to the tool are left out and said', () => {
    expect(poolOf({ tools: ['mcp__git__log(x)', 'Read'] })).toMatchObject({
      tools: ['Read'],
      diagnostics: [{ code: 'tool-entry-unreadable' }],
    })
  })
})
