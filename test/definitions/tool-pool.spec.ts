import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DefinitionSource } from '../../src/definitions/agent-definition.ts'
import { EXPLORE } from '../../src/definitions/built-in/explore.ts'
import { GENERAL_PURPOSE } from '../../src/definitions/built-in/general-purpose.ts'
import { BACKGROUND_TOOLS, KNOWN_TOOL_NAMES } from '../../src/definitions/tool-names.ts'
import {
  forkToolPool,
  resolveToolPool,
  type ToolPool,
  type ToolPoolOptions,
} from '../../src/definitions/tool-pool.ts'

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

describe('agents that are started in the background', () => {
  const offered = [...KNOWN_TOOL_NAMES, 'mcp__git__log', 'HostTool']
  const background: ToolPoolOptions = { ...child, nestingAllowed: true, isBackground: true }
  const resolved = (options: ToolPoolOptions) => {
    const pool = resolveToolPool(offered, { agentType: 'tester' }, options)
    if (pool.kind === 'refused') throw new Error(pool.message)
    return pool
  }

  it('keep what waits for nobody, and the tools of MCP servers', () => {
    expect([...resolved(background).tools].sort()).toEqual([...BACKGROUND_TOOLS, 'mcp__git__log'].sort())
  })

  it('keep what a setting says instead', () => {
    expect(resolved({ ...background, backgroundTools: ['HostTool'] }).tools).toEqual([
      'mcp__git__log',
      'HostTool',
    ])
  })

  it('are children: the root has all but what asks a parent, and a child that was moved keeps its array', () => {
    expect(resolved({ ...background, isChild: false }).tools).toEqual(
      offered.filter((name) => name !== 'AskParent'),
    )
    expect(resolved({ ...background, isBackground: false }).tools).toContain('HostTool')
  })
})

describe('agents of files and flags', () => {
  const offered = ['Read', 'EnterWorktree', 'ExitWorktree', 'TeamCreate', 'TeamDelete']
  const toolsFrom = (source: DefinitionSource, options: Partial<ToolPoolOptions> = {}) => {
    const pool = resolveToolPool(offered, { agentType: 'tester', source }, { ...child, ...options })
    return pool.kind === 'refused' ? [] : pool.tools
  }

  it.each<[DefinitionSource, boolean]>([
    ['userSettings', false],
    ['projectSettings', false],
    ['localSettings', false],
    ['flagSettings', false],
    ['policySettings', true],
    ['plugin', true],
    ['built-in', true],
  ])('from %s have worktree and team tools: %j', (source, hasThem) => {
    expect(toolsFrom(source)).toEqual(hasThem ? offered : ['Read'])
  })

  it('do without what a setting names instead', () => {
    expect(toolsFrom('projectSettings', { notForFileAgents: ['read'] })).toEqual(offered.slice(1))
  })
})

describe('the tools of MCP servers of its own', () => {
  const own = { ...child, ownMcpTools: ['mcp__db__query', 'mcp__db__drop'] }

  it('join whatever tools lists', () => {
    expect(toolsOf({ tools: ['Read'] }, own)).toEqual(['Read', 'mcp__db__query', 'mcp__db__drop'])
    expect(toolsOf({ tools: [] }, own)).toEqual(['mcp__db__query', 'mcp__db__drop'])
    expect(poolOf({ tools: ['mcp__db__*'] }, own)).toMatchObject({ diagnostics: [] })
  })

  it('are excluded by name, and left to reading ones in plan', () => {
    expect(toolsOf({ tools: ['Read'], disallowedTools: ['mcp__db__drop'] }, own)).toEqual([
      'Read',
      'mcp__db__query',
    ])
    expect(toolsOf({ tools: ['Read'] }, { ...own, mode: 'plan' })).toEqual(['Read'])
  })

  it('are there once when a shared server offers them too', () => {
    expect(toolsOf({ tools: ['Read'] }, { ...child, ownMcpTools: ['mcp__git__log'] })).toEqual([
      'Read',
      'mcp__git__log',
    ])
  })
})

describe('why a tool is missing', () => {
  it('is kept for each, by the first step that drops it', () => {
    const pool = poolOf(
      { tools: ['Agent', 'Bash', 'Edit', 'Read', 'mcp__git__add'], disallowedTools: ['Bash'] },
      { ...child, mode: 'plan' },
    )
    expect(pool.dropped.map(({ tool, step }) => [tool, step])).toEqual([
      ['Agent', 'nesting'],
      ['Bash', 'disallowedTools'],
      ['Edit', 'plan'],
      ['Glob', 'tools'],
      ['Grep', 'tools'],
      ['Write', 'tools'],
      ['ExitPlanMode', 'root-only'],
      ['mcp__git__log', 'tools'],
      ['mcp__git__add', 'plan'],
    ])
    for (const { reason } of pool.dropped) expect(reason).toMatch(/\w/u)
  })

  it('companions of Agent go and come with it', () => {
    const offered = ['Agent', 'TaskOutput', 'TaskStop', 'Read']
    const tools = (nestingAllowed: boolean) => {
      const pool = resolveToolPool(offered, { agentType: 'tester' }, { ...child, nestingAllowed })
      return pool.kind === 'refused' ? [] : pool.tools
    }
    expect(tools(false)).toEqual(['Read'])
    expect(tools(true)).toEqual(offered)
  })
})

describe('a pool never widens', () => {
  const entries = fc.array(
    fc.constantFrom(
      ...ALL,
      '*',
      'mcp__git',
      'mcp__git__*',
      'Nonsense',
      'Bash(ls:*)',
      'Bash(',
      'mcp__git__log(x)',
    ),
    { maxLength: 5 },
  )
  const options = fc.record({
    isChild: fc.boolean(),
    nestingAllowed: fc.boolean(),
    mode: fc.constantFrom('default', 'plan', 'bypassPermissions'),
    isBackground: fc.boolean(),
    isReadOnlyTool: fc.constant(child.isReadOnlyTool),
  })

  it('beyond what is offered, and says of every tool where it is', () => {
    fc.assert(
      fc.property(entries, entries, options, (tools, disallowedTools, each) => {
        const pool = poolOf({ tools, disallowedTools }, each)
        const kept = pool.kind === 'refused' ? [] : pool.tools
        expect([...kept, ...pool.dropped.map(({ tool }) => tool)].sort()).toEqual([...ALL].sort())
      }),
    )
  })

  it('by another entry in disallowedTools, by a child, by the background or by plan', () => {
    fc.assert(
      fc.property(entries, entries, entries, options, (tools, some, more, each) => {
        const wide = poolOf({ tools, disallowedTools: some }, { ...each, isChild: false, mode: 'default' })
        const narrow = poolOf({ tools, disallowedTools: [...some, ...more] }, each)
        if (narrow.kind === 'refused') return
        const allowed = wide.kind === 'refused' ? [] : wide.tools
        expect(narrow.tools.filter((name) => !allowed.includes(name))).toEqual([])
      }),
    )
  })

  it('by an entry of disallowedTools that cannot be read: it excludes the whole tool', () => {
    const pool = poolOf({ disallowedTools: ['Bash(rm', 'mcp__git__add(x)', '(('] })
    expect(pool).toMatchObject({
      tools: FOR_CHILDREN.filter((name) => name !== 'Bash' && name !== 'mcp__git__add'),
    })
    expect(pool.diagnostics.map(({ message }) => message)).toEqual([
      expect.stringContaining('excludes all of Bash'),
      expect.stringContaining('excludes all of mcp__git__add'),
      expect.stringContaining('was left out'),
    ])
  })

  it("by forking: a fork has its parent's array and every bound on its calls", () => {
    const parent = poolOf({ tools: ['Bash(git log:*)', 'Read', 'Nope'], disallowedTools: ['Bash(rm:*)'] })
    if (parent.kind === 'refused') throw new Error(parent.message)
    const fork = forkToolPool(parent)
    expect(fork.tools).toBe(parent.tools)
    expect(fork).toMatchObject({ only: parent.only, deny: parent.deny, diagnostics: [] })
    expect([parent.only.length, parent.deny.length]).toEqual([1, 1])
  })
})
