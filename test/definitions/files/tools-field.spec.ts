/** `tools` and `disallowedTools` in the spellings that people use. */
import { describe, expect, it } from 'vitest'
import { parseAgentFile } from '../../../src/definitions/files/parse-agent-file.ts'
import { resolveToolPool } from '../../../src/definitions/tool-pool.ts'
import { agentOf, codesOf, goodFile, ORIGIN } from './support.ts'

const RW = ['Read', 'Write']

/** Lines of frontmatter, what they mean, and codes of what is said about it. */
const SPELLINGS: readonly (readonly [
  lines: readonly string[],
  tools: readonly string[] | undefined,
  codes?: readonly string[],
])[] = [
  [[], undefined],
  [['tools: "*"'], ['*']],
  [['tools: *'], ['*'], ['yaml-repaired']],
  [['tools: all'], ['*']],
  [['tools: All'], ['*']],
  [['tools: ["*"]'], ['*']],
  [['tools: [all]'], ['*']],
  [['tools: Read, *'], ['*']],
  [['tools: none'], []],
  [['tools: []'], []],
  [['tools: [none]'], []],
  [['tools: none, Read'], []],
  [['tools:'], [], ['tools-empty']],
  [['tools: ""'], [], ['tools-empty']],
  [['tools: ~'], [], ['tools-empty']],
  [['tools: Read, Write'], RW],
  [['tools: Read,Write'], RW],
  [['tools: Read Write'], RW],
  [['tools: Read  ,\tWrite ,'], RW],
  [['tools: "Read, Write"'], RW],
  [["tools: 'Read, Write'"], RW],
  [['tools: "Read", "Write"'], RW, ['yaml-repaired']],
  [['tools: [Read, Write]'], RW],
  [['tools: ["Read", "Write"]'], RW],
  [['tools: [Read,', '  Write]'], RW],
  [['tools:', '  - Read', '  - Write'], RW],
  [['tools:', '- Read', '- "Write"'], RW],
  [['tools:', '\t- Read', "\t- 'Write'"], RW, ['yaml-repaired']],
  [['tools:', '  - Read, Write'], RW],
  [['tools:', '  - Read', '  -', '  - Write'], RW],
  [['tools: Read, Write # only these'], RW],
  [['tools: >', '  Read,', '  Write'], RW],
  [['tools: |', '  Read', '  Write'], RW],
  [['tools: Read, Read, read'], ['Read']],
  [['tools: read, WRITE'], RW],
  [['Tools: Read, Write'], RW, ['key-spelling']],
  [['allowedTools: Read, Write'], RW, ['key-spelling']],
  [['allowed-tools: Read, Write'], RW, ['key-spelling']],
  [['allowed_tools: [Read, Write]'], RW, ['key-spelling']],
  [['tools: Read, Write', 'allowed-tools: "Read, Write"'], RW, ['field-repeated']],
  [['tools: Agent(a, b), Read'], ['Agent(a, b)', 'Read']],
  [['tools: [Agent(a, b), Read]'], ['Agent(a, b)', 'Read']],
  [['tools: Task(a), Task'], ['Agent(a)', 'Agent']],
  [['tools: Bash(git log:*), Read'], ['Bash(git log:*)', 'Read']],
  [['tools: Bash(git log:*) Read'], ['Bash(git log:*)', 'Read']],
  [
    ['tools:', '  - Bash(git log:*)', '  - Read'],
    ['Bash(git log:*)', 'Read'],
  ],
  [['tools:', '  - Bash(git log: *)', '  - Read'], ['Bash(git log: *)', 'Read'], ['yaml-repaired']],
  [['tools:', '  - Bash(git: log)', '  - Read'], ['Bash(git: log)', 'Read'], ['value-as-text']],
  [['tools: Read (./src/**)'], ['Read(./src/**)']],
  [['tools: Bash(echo (a, b)), Read'], ['Bash(echo (a, b))', 'Read']],
  [['tools: mcp__github__*, mcp__docs__search'], ['mcp__github__*', 'mcp__docs__search']],
  [['tools: Read, Raed'], ['Read'], ['tool-unknown']],
  [['tools: Read, context-manager'], ['Read'], ['tool-unknown']],
  [['tools: read_file, run_shell_command'], ['Read', 'Bash'], ['tool-renamed', 'tool-renamed']],
  [
    ['tools: [ReadFile, web_fetch, todo_write]'],
    ['Read', 'WebFetch', 'TodoWrite'],
    ['tool-renamed', 'tool-renamed', 'tool-renamed'],
  ],
  [['tools: Edit, MultiEdit'], ['Edit'], ['tool-renamed']],
  [['tools: Read, Bash(git log'], ['Read'], ['tool-entry-unreadable']],
  [['tools: Agent(Read, Bash'], ['Agent(Read, Bash'], ['tool-entry-unreadable', 'tools-unresolved']],
]

describe('the spellings of tools', () => {
  it.each(SPELLINGS.map(([lines, tools, codes = []]) => ({ lines, tools, codes })))(
    '$lines means $tools',
    ({ lines, tools, codes }) => {
      const file = agentOf(goodFile(...lines))
      expect(file.definition.tools).toEqual(tools)
      expect(file.diagnostics.map(({ code }) => code)).toEqual(codes)
    },
  )

  it('names the line and column of an unknown tool, and the one that was meant', () => {
    const { diagnostics } = agentOf(goodFile('tools:', '  - Read', '  - Raed'))
    expect(diagnostics).toMatchObject([{ code: 'tool-unknown', line: 6, column: 5 }])
    expect(diagnostics[0]?.message).toContain('Did you mean "Read"?')
  })

  it('keeps tools of the host that are not known here', () => {
    const file = parseAgentFile(goodFile('tools: deploy, Read'), ORIGIN, { toolNames: ['deploy'] })
    expect(file).toMatchObject({ kind: 'agent', definition: { tools: ['deploy', 'Read'] }, diagnostics: [] })
  })

  it('tells a list that names nothing known from none: the pool refuses it by name', () => {
    const { definition, diagnostics } = agentOf(goodFile('tools: frobnicate, munge'))
    expect(diagnostics.map(({ code }) => code)).toEqual(['tool-unknown', 'tool-unknown', 'tools-unresolved'])
    const options = {
      isChild: true,
      nestingAllowed: false,
      mode: 'default',
      isReadOnlyTool: () => false,
    } as const
    expect(resolveToolPool(['Read'], definition, options)).toMatchObject({ kind: 'refused' })
    const { definition: none } = agentOf(goodFile('tools: none'))
    expect(resolveToolPool(['Read'], none, options)).toMatchObject({ kind: 'resolved', tools: [] })
    const { definition: all } = agentOf(goodFile())
    expect(resolveToolPool(['Read'], all, options)).toMatchObject({ kind: 'resolved', tools: ['Read'] })
  })

  it.each([
    [['tools: [Read, Write']],
    [['tools: {Read: true, Bash: false}']],
    [['tools: 3']],
    [['tools: true']],
    [['tools:', '  Read: true']],
    [['tools: [Read, [Write]]']],
    [['tools: [Read, 3]']],
    [['tools: Read', 'tools: Write']],
    [['tools: Read', 'allowedTools: Read, Write']],
    [['tools: Read: yes', '  and more']],
    [['tools: Read, # looks', '  Write']],
  ])('rejects the file for %j: it must not get more than was meant', (lines) => {
    const file = parseAgentFile(goodFile(...lines), ORIGIN)
    expect(file.kind).toBe('failed')
    expect(file.diagnostics.filter(({ severity }) => severity === 'error')).toMatchObject([
      { code: expect.stringMatching(/^field-(?:unreadable|repeated)$/), line: expect.any(Number) },
    ])
  })

  it('rejects a file with more tools than anybody has', () => {
    const file = parseAgentFile(goodFile(`tools: ${'Read, '.repeat(501)}`), ORIGIN)
    expect(codesOf(file)).toEqual(['error field-unreadable:4'])
  })

  it.each([
    ['description: "Reviews', 'tools: Read', 'color: red"'],
    ["description: 'Reviews", 'tools: Read', "color: red'"],
    ['skills: [a,', 'tools: Read', ']'],
    ['x: "', 'tools: Read', 'y"'],
  ])('is not swallowed by a value that is closed behind it: %j', (...lines) => {
    const file = parseAgentFile(`---\nname: a\n${lines.join('\n')}\ndescription: b\n---\n`, ORIGIN)
    if (file.kind === 'agent') expect(file.definition.tools).toEqual(['Read'])
    expect(codesOf(file).join()).toContain('yaml-repaired')
  })

  it.each([
    ['tools: Read', 'Reads: this', ['Read']],
    [' tools: Read', 'Reads: this', ['Read']],
    ['\ttools: Read', 'Reads: this', ['Read']],
    ['Tools: Read', 'Reads: this', ['Read']],
    ['tools:Read', 'Reads: this', ['Read']],
  ])('finds %j in frontmatter that is not YAML', (line, description, tools) => {
    const file = agentOf(`---\nname: reviewer\ndescription: ${description}\n${line}\n---\n`)
    expect(file.mode).toBe('repaired')
    expect(file.definition.tools).toEqual(tools)
  })
})

describe('the spellings of disallowedTools', () => {
  it.each([
    ['disallowedTools: Write, Edit', ['Write', 'Edit'], []],
    ['disallowed-tools: [Write]', ['Write'], ['key-spelling']],
    ['disallowedTools: none', [], []],
    ['disallowedTools:', [], []],
    ['disallowedTools: write_file', ['Write'], ['tool-renamed']],
    ['disallowedTools: Bash(rm:*)', ['Bash(rm:*)'], []],
    // What cannot be read forbids more, never less.
    ['disallowedTools: Bash(rm', ['Bash'], ['tool-entry-unreadable']],
    ['disallowedTools: Bash(rm, Write', ['Bash', 'Write'], ['tool-entry-unreadable']],
    ['disallowedTools: Bash()', ['Bash'], ['tool-entry-unreadable']],
    ['disallowedTools: deploy', ['deploy'], ['tool-unknown']],
    ['disallowedTools: "*"', ['*'], []],
  ])('%s', (line, disallowedTools, codes) => {
    const file = agentOf(goodFile(line))
    expect(file.definition.disallowedTools).toEqual(disallowedTools)
    expect(file.diagnostics.map(({ code }) => code)).toEqual(codes)
  })

  it.each([
    'disallowedTools: 3',
    'disallowedTools: {Write: true}',
    'disallowedTools: [Write',
    'disallowedTools: (rm',
  ])('rejects the file for %j', (line) => {
    expect(codesOf(parseAgentFile(goodFile(line), ORIGIN))).toContain('error field-unreadable:4')
  })
})

it('reads tools that stand before the description', () => {
  expect(agentOf('---\ntools: Read\ndescription: x\nname: y\n---\n').definition.tools).toEqual(['Read'])
})
