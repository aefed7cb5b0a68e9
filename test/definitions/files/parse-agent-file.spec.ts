/** Files as people write them: fences, broken YAML, prose, names, keys. */
import { describe, expect, it } from 'vitest'
import { parseAgentFile } from '../../../src/definitions/files/parse-agent-file.ts'
import { agentOf, asData, codesOf, fileOf, goodFile, ORIGIN, outcomeOf } from './support.ts'

const whenToUse = (content: string): unknown => agentOf(content).definition.whenToUse

describe('a good file', () => {
  it('gives a definition that knows where it is from', () => {
    const origin = { path: '/p/agents/a.md', source: 'plugin', plugin: 'kit', baseDir: '/p' } as const
    const { definition, mode, diagnostics } = agentOf(goodFile('model: opus', 'color: "#4DB6AC"'), origin)
    expect(asData(definition)).toEqual({
      agentType: 'kit:reviewer',
      whenToUse: 'Reviews code.',
      model: 'opus',
      color: '#4DB6AC',
      prompt: 'You review.',
      source: 'plugin',
      plugin: 'kit',
      baseDir: '/p',
      filename: '/p/agents/a.md',
    })
    expect({ mode, diagnostics }).toEqual({ mode: 'strict', diagnostics: [] })
  })

  const DESCRIPTIONS = {
    plain: ['description: Reviews code.'],
    colon: ['description: Reviews code: all of it'],
    'several lines': ['description: Reviews code.', '<example>', 'user: "Please: review #12"', '</example>'],
  }
  const ENDS: readonly (readonly [string, (text: string) => string])[] = [
    ['LF', (text) => text],
    ['CRLF', (text) => text.replaceAll('\n', '\r\n')],
    ['CR', (text) => text.replaceAll('\n', '\r')],
    ['mixed', (text) => text.replaceAll('\n\n', '\r\n\r').replace('\n', '\r\n')],
  ]

  it.each(Object.entries(DESCRIPTIONS))(
    'is the same with any line ends, marks and last line: %s',
    (_, lines) => {
      const plain = fileOf('name: reviewer', ...lines, 'model: opus')
      const outcome = outcomeOf(plain)
      expect(outcome).toMatchObject({ kind: 'agent', definition: { model: 'opus' } })
      for (const [, change] of ENDS)
        for (const mark of ['', '\ufeff'])
          for (const text of [plain, plain.trimEnd(), `\n \n${plain}`])
            expect(outcomeOf(Buffer.from(mark + change(text)))).toEqual(outcome)
    },
  )

  it('is the same as bytes and as text, and in UTF-16', () => {
    const text = goodFile('color: grün')
    expect(outcomeOf(Buffer.from(text))).toEqual(outcomeOf(text))
    const wide = Buffer.from(`\ufeff${text}`, 'utf16le')
    expect(outcomeOf(wide)).toEqual(outcomeOf(text))
    expect(outcomeOf(Buffer.from(wide).swap16())).toEqual(outcomeOf(text))
    expect(codesOf(agentOf(wide))).toEqual(['warning text-damaged'])
  })
})

describe('fences', () => {
  it.each([
    ['blanks behind them', '---  \nname: a\ndescription: b\n---\t\nx', []],
    ['blank lines before them', '\n\n---\nname: a\ndescription: b\n---\nx', []],
    ['more dashes', '---\nname: a\ndescription: b\n-------\nx', ['warning fence-odd:4']],
    ['more dashes at the top', '-----\nname: a\ndescription: b\n---\nx', ['warning fence-odd:1']],
    ['the end mark of YAML', '---\nname: a\ndescription: b\n...\nx', ['warning fence-odd:4']],
    ['the word yaml', '---yaml\nname: a\ndescription: b\n---\nx', []],
    ['an indent that all keys have', '---\n  name: a\n  description: b\n---\nx', []],
  ])('may have %s', (_, content, codes) => {
    const file = agentOf(content)
    expect(asData(file.definition)).toMatchObject({ agentType: 'a', whenToUse: 'b', prompt: 'x' })
    expect(codesOf(file)).toEqual(codes)
  })

  it.each([
    ['nothing', ''],
    ['blank lines', '\n\n  \n'],
    ['a page', '# Agents\n\n---\n\nname: x\ndescription: y\n'],
    ['a page below a rule', '---\n\nAll about agents\n\n---\n\nMore'],
    ['a page below a rule alone', '---\n\n# Agents'],
    ['a fence that is none', '--\nname: a\ndescription: b\n--\n'],
  ])('make no agent and no mistake of %s', (_, content) => {
    expect(parseAgentFile(content, ORIGIN)).toEqual({
      kind: 'not-an-agent',
      file: ORIGIN.path,
      diagnostics: [],
    })
  })

  it.each([
    ['an indent', '\n    ---\n    name: a\n    description: b\n    ---\n', 2],
    ['a comment before them', '<!-- Apache-2.0 -->\n\n---\nname: a\n---\n', 1],
  ])('are missed with %s, which is said', (_, content, line) => {
    const file = parseAgentFile(content, ORIGIN)
    expect(file.kind).toBe('not-an-agent')
    expect(codesOf(file)).toEqual([`warning frontmatter-misplaced:${line}`])
  })

  it.each([
    ['the last one missing', '---\nname: a\ndescription: b\n\nYou review.', 'frontmatter-not-closed:1'],
    ['another language', '---js\n{ name: "a", description: "b" }\n---\n', 'frontmatter-language:1'],
    ['nothing between them', '---\n---\nx', 'description-missing:1'],
    ['too much between them', `---\nname: a\nx: ${'y'.repeat(70_000)}\n---\n`, 'frontmatter-too-large:1'],
  ])('give no agent with %s', (_, content, code) => {
    const file = parseAgentFile(content, ORIGIN)
    expect(file.kind).toBe('failed')
    expect(codesOf(file)).toContain(`error ${code}`)
  })

  it('refuse a file that is too large', () => {
    expect(codesOf(parseAgentFile(goodFile() + 'x'.repeat(1_048_576), ORIGIN))).toEqual([
      'error file-too-large',
    ])
  })
})

describe('prose', () => {
  it.each([
    ['Closes #12 and more', 'Closes #12 and more'],
    ['#1 choice for reviews', '#1 choice for reviews'],
    ['C# code', 'C# code'],
    ['"Closes #12"', 'Closes #12'],
    ['"Reviews" # a comment', 'Reviews'],
    ['Reviews\n  issue #12\n  and #13', 'Reviews issue #12 and #13'],
    ['|\n  Closes #12\n  # not a comment', 'Closes #12\n# not a comment'],
    ['>\n  One\n  two\n\n  three', 'One two\nthree'],
    ['Use it when: asked', 'Use it when: asked'],
    ['Use it when: asked, see #12', 'Use it when: asked, see #12'],
    ['Use it when:\n  asked: twice\n  or more', 'Use it when: asked: twice or more'],
    ['"Use "it" when: asked"', 'Use "it" when: asked'],
    ['"Say \\"hi\\": now" or: not', '"Say \\"hi\\": now" or: not'],
    ["'it''s: fine", "'it''s: fine"],
    ['|\n  One: two\n<example>\n  five', 'One: two\n<example>\n  five'],
    ["'Use 'it' when: asked'", "Use 'it' when: asked"],
    ['"Use "it" when', '"Use "it" when'],
    ['Literal \\n\\n<example> stays: yes', 'Literal \\n\\n<example> stays: yes'],
    ['[WIP] reviews code', '[WIP] reviews code'],
    ['*Reviews* code', '*Reviews* code'],
    ['@me reviews code', '@me reviews code'],
    ['`tsc` reviews code', '`tsc` reviews code'],
    ['- reviews\n- code', '- reviews\n- code'],
    ['\n  Reviews: code', 'Reviews: code'],
    ['2024', '2024'],
    ['Tabs\tand: blanks', 'Tabs\tand: blanks'],
  ])('%j is read whole', (written, meant) => {
    const file = agentOf(`---\nname: reviewer\ndescription: ${written}\nmodel: opus\n---\n`)
    expect(file.definition).toMatchObject({ whenToUse: meant, model: 'opus', agentType: 'reviewer' })
  })

  it('that YAML cuts at ` #` is kept with a warning that names the line', () => {
    const file = agentOf(fileOf('name: a', 'description: Closes #12'))
    expect(file.mode).toBe('strict')
    expect(codesOf(file)).toEqual(['warning value-as-text:3'])
  })

  it('does not take a comment line for text', () => {
    expect(whenToUse(fileOf('name: a', 'description: Reviews', '# hooks:', '#   - x', 'model: opus'))).toBe(
      'Reviews',
    )
  })

  it('over lines at column 1 ends at the next known key only', () => {
    const lines = [
      'description: Use it when: asked',
      '<example>',
      'user: "Name: x"',
      '</example>',
      'model: opus',
    ]
    const { definition, unknownKeys } = agentOf(fileOf('name: a', ...lines))
    expect(definition).toMatchObject({
      whenToUse: 'Use it when: asked\n<example>\nuser: "Name: x"\n</example>',
      model: 'opus',
    })
    expect(unknownKeys).toEqual({})
  })

  it('loses what a terminal would take for orders', () => {
    expect(whenToUse(fileOf('name: a', 'description: "red \\e[31m\\u0007!"'))).toBe('red [31m!')
  })
})

describe('frontmatter that is not YAML', () => {
  const broken = ['name: a', 'description: Use it when: asked', 'model: opus']

  it('registers with a warning that names the line and the reason', () => {
    const file = agentOf(fileOf(...broken))
    expect(file.mode).toBe('repaired')
    expect(codesOf(file)).toEqual(['warning yaml-repaired:3'])
    expect(file.diagnostics[0]?.message).toContain('`description` as plain text')
  })

  it('loses hooks, mcpServers and permissionMode, and says so', () => {
    const lost = [
      'permissionMode: bypassPermissions',
      'mcpServers: [github]',
      'hooks:',
      '  Stop: [{command: x}]',
    ]
    const file = agentOf(fileOf(...broken, ...lost))
    expect(file.definition).not.toHaveProperty('hooks')
    expect(file.definition).not.toHaveProperty('mcpServers')
    expect(file.definition).not.toHaveProperty('permissionMode')
    expect(codesOf(file)).toEqual([
      'warning yaml-repaired:3',
      'warning field-lost:5',
      'warning field-lost:6',
      'warning field-lost:7',
    ])
  })

  it('keeps every other field, in whatever form YAML has for it', () => {
    const kept = [
      'skills:',
      '  - one',
      '  - two',
      'maxTurns: 25 # enough',
      'outputSchema:',
      '  type: object',
      'vibe: calm: very',
    ]
    const { definition, unknownKeys } = agentOf(fileOf(...broken, ...kept))
    expect(definition).toMatchObject({
      skills: ['one', 'two'],
      maxTurns: 25,
      outputSchema: { type: 'object' },
    })
    expect(unknownKeys).toEqual({ vibe: 'calm: very' })
  })

  it.each([
    ['a tab for an indent', ['name: a', 'description: b', 'skills:', '\t- one', '\t- two']],
    ['a key that is there twice', ['name: a', 'name: z', 'description: b', 'skills: one two']],
    ['a quote that is never closed', ['name: a', 'description: b', 'color: "red', 'skills: one, two']],
    ['no blank behind a colon', ['name:a', 'description:b', 'skills:one two']],
  ])('is read in spite of %s', (_, lines) => {
    const file = agentOf(fileOf(...lines))
    expect(file.mode).toBe('repaired')
    expect(file.definition).toMatchObject({ agentType: 'a', whenToUse: 'b', skills: ['one', 'two'] })
  })

  it('includes what lenient readers find keys in', () => {
    const file = agentOf(fileOf('name: a', 'description: "Use "it" when: asked"', 'model: opus'))
    expect(file).toMatchObject({ mode: 'repaired', unknownKeys: {} })
    expect(codesOf(file)).toEqual(['warning yaml-repaired:3'])
  })

  it('says which of two keys counts', () => {
    expect(codesOf(agentOf(fileOf('name: a', 'name: z', 'description: b')))).toContain(
      'warning field-repeated:3',
    )
  })

  it('gives the same answer each time, also after a parse that failed', () => {
    const content = fileOf(...broken)
    const first = parseAgentFile(content, ORIGIN)
    for (let i = 0; i < 3; i++) {
      expect(outcomeOf(content)).toEqual(outcomeOf(content))
      expect(parseAgentFile(content, ORIGIN).diagnostics).toEqual(first.diagnostics)
    }
  })
})

describe('the name', () => {
  it.each([
    ['/p/agents/code-reviewer.md', 'code-reviewer'],
    ['C:\\p\\agents\\Reviewer.MD', 'Reviewer'],
    ['/p/agents/a.b.markdown', 'a.b'],
  ])('is that of the file %s where there is none', (path, name) => {
    const file = agentOf(fileOf('description: b'), { path, source: 'userSettings' })
    expect(file.definition.agentType).toBe(name)
    expect(codesOf(file)).toEqual(['warning name-missing:1'])
  })

  it.each([
    ['ZK Steward', 'ZK Steward', []],
    ['123', '123', []],
    ['1e3', '1e3', []],
    ['2024-01-01', '2024-01-01', []],
    ['yes', 'yes', []],
    ['reviewer # the best', 'reviewer', []],
    ['UI/UX Designer', 'UI/UX Designer', ['name-unusual']],
    ['"../../etc/passwd"', 'etc-passwd', ['name-changed']],
    ['a/../b', 'a-.-b', ['name-changed']],
    ['/abs/path', 'abs-path', ['name-changed']],
    ['~/x', 'x', ['name-changed']],
    ['.hidden', 'hidden', ['name-changed']],
    ['a\\b', 'a-b', ['name-changed']],
    ['"a\\nb\\0c\\e[31m"', 'a-b-c-[31m', ['name-changed']],
    ['"a\\u202eb"', 'a-b', ['name-changed']],
    ['"a\\ud800b"', 'a\ufffdb', []],
    ['x'.repeat(300), 'x'.repeat(100), ['name-changed']],
    ['".."', 'reviewer', ['field-unreadable', 'name-missing']],
    ['__proto__', 'reviewer', ['field-unreadable', 'name-missing']],
    ['[a, b]', 'reviewer', ['field-unreadable', 'name-missing']],
    ['{a: b}', 'reviewer', ['field-unreadable', 'name-missing']],
    ['~', 'reviewer', ['name-missing']],
  ])('%s is %j', (written, name, codes) => {
    const file = agentOf(fileOf(`name: ${written}`, 'description: b'))
    expect(file.definition.agentType).toBe(name)
    expect(file.diagnostics.map(({ code }) => code)).toEqual(codes)
  })

  it('fails the file when that of the file is no better', () => {
    const file = parseAgentFile(fileOf('description: b'), { path: '/p/agents/...md', source: 'userSettings' })
    expect(file.kind).toBe('failed')
    expect(codesOf(file)).toContain('error name-unusable:1')
  })

  it('gets the name of the plugin once', () => {
    const origin = { path: '/p/a.md', source: 'plugin', plugin: 'kit' } as const
    expect(agentOf(fileOf('name: kit:a', 'description: b'), origin).definition.agentType).toBe('kit:a')
  })
})

describe('keys', () => {
  it.each([['description:'], ['description: ""'], ['description: ~'], ['title: x']])(
    'without a description (%s) give no agent',
    (line) => {
      const file = parseAgentFile(fileOf('name: a', line), ORIGIN)
      expect(file.kind).toBe('failed')
      expect(codesOf(file)).toContain('error description-missing:1')
    },
  )

  it('that are unknown are kept and told once, with the one that was meant', () => {
    const file = agentOf(goodFile('desciption: x', 'emoji: 🦊', 'nested: {a: [1]}'))
    expect(file.unknownKeys).toEqual({ desciption: 'x', emoji: '🦊', nested: { a: [1] } })
    expect(codesOf(file)).toEqual(['warning key-unknown:4', 'warning key-unknown:5', 'warning key-unknown:6'])
    expect(file.diagnostics[0]?.message).toContain('Did you mean "description"?')
    expect(file.diagnostics[1]?.message).not.toContain('Did you mean')
  })

  it('in another spelling are understood, with a warning', () => {
    const file = agentOf(fileOf('Name: a', 'when-to-use: b', 'max_turns: 3', 'permission-mode: plan'))
    expect(file.definition).toMatchObject({
      agentType: 'a',
      whenToUse: 'b',
      maxTurns: 3,
      permissionMode: 'plan',
    })
    expect(file.diagnostics.map(({ code }) => code)).toEqual(Array(4).fill('key-spelling'))
  })

  it('in quotes and in braces are keys', () => {
    expect(agentOf(fileOf('"name": a', "'description': b")).definition).toMatchObject({ agentType: 'a' })
    expect(agentOf(fileOf('{"name": "a", "description": "b"}')).definition).toMatchObject({ agentType: 'a' })
  })

  it('alone give an agent without a prompt, which is said', () => {
    expect(codesOf(agentOf('---\nname: a\ndescription: b\n---\n'))).toEqual(['warning prompt-missing:1'])
  })
})
