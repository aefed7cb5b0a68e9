/** Each field: what it accepts, and what becomes of what it does not. */
import { describe, expect, it } from 'vitest'
import { agentOf, codesOf, goodFile } from './support.ts'

describe('fields', () => {
  it.each([
    ['model: sonnet', { model: 'sonnet' }],
    ['model: Inherit', { model: 'Inherit' }],
    ['model: " claude-opus-4-1 "', { model: 'claude-opus-4-1' }],
    ['model: gpt-5', { model: 'gpt-5' }],
    ['model:', {}],
    ['effort: high', { effort: 'high' }],
    ['effort: 4000', { effort: 4000 }],
    ['permissionMode: plan', { permissionMode: 'plan' }],
    ['permissionMode: accept-edits', { permissionMode: 'acceptEdits' }],
    ['permissionMode: bubble', { permissionMode: 'bubble' }],
    ['permissionMode:', {}],
    ['isolation: worktree', { isolation: 'worktree' }],
    ['isolation: none', {}],
    ['isolation: false', {}],
    ['background: true', { background: true }],
    ['background: yes', { background: true }],
    ['background: "off"', { background: false }],
    ['forksParentContext: true', { forksParentContext: true }],
    ['forksParentContext: turn', { forksParentContext: 'turn' }],
    ['forksParentContext: false', {}],
    ['requiredMcpServers: github, docs', { requiredMcpServers: ['github', 'docs'] }],
    ['skills: [a, "kit:b", a]', { skills: ['a', 'kit:b'] }],
    ['memory: project', { memory: 'project' }],
    ['maxTurns: 25', { maxTurns: 25 }],
    ['maxTurns: "25"', { maxTurns: 25 }],
    ['tokens: 100_000', { tokens: 100_000 }],
    ['initialPrompt: Begin with #1', { initialPrompt: 'Begin with #1' }],
    ['omitClaudeMd: true', { omitClaudeMd: true }],
    ['appendSystemPrompt: true', { appendSystemPrompt: true }],
    [
      'criticalSystemReminder: |\n  Verify.\n  Fix nothing.',
      { criticalSystemReminder: 'Verify.\nFix nothing.' },
    ],
    ['color: red', { color: 'red' }],
    ['color: "#4DB6AC"', { color: '#4DB6AC' }],
    ['outputSchema: {type: object}', { outputSchema: { type: 'object' } }],
    ['outputSchema: \'{"type":"object"}\'', { outputSchema: { type: 'object' } }],
    ['mcpServers: [github]', { mcpServers: ['github'] }],
  ])('%s is read without a word', (line, part) => {
    const file = agentOf(goodFile(line))
    const { agentType, whenToUse, getSystemPrompt, source, filename, ...rest } = file.definition
    expect(rest).toEqual(part)
    expect(codesOf(file).filter((code) => !code.includes('value-as-text'))).toEqual([])
  })

  it('a colour that YAML takes for a comment is one', () => {
    expect(agentOf(goodFile('color: #4DB6AC')).definition.color).toBe('#4DB6AC')
  })

  it.each([
    ['model', '[a, b]'],
    ['effort', 'enormous'],
    ['effort', '-1'],
    ['background', 'perhaps'],
    ['forksParentContext', 'all'],
    ['requiredMcpServers', '{a: b}'],
    ['skills', '[[a]]'],
    ['memory', 'everywhere'],
    ['maxTurns', '0'],
    ['maxTurns', 'many'],
    ['maxTurns', '2.5'],
    ['maxTurns', '99999999999999999999'],
    ['tokens', '.inf'],
    ['omitClaudeMd', '[true]'],
    ['color', '{a: b}'],
    ['outputSchema', '[1]'],
    ['outputSchema', 'object'],
  ])('%s: %s is left out with a warning that names the line and the value', (key, value) => {
    const file = agentOf(goodFile(`${key}: ${value}`))
    expect(file.definition).not.toHaveProperty(key)
    expect(codesOf(file)).toEqual(['warning field-unreadable:4'])
    expect(file.diagnostics[0]?.message).toContain(`\`${key}\` must be`)
  })

  it.each([
    // What would widen the agent if it were left out becomes the narrowest instead.
    ['permissionMode: readonly', { permissionMode: 'plan' }],
    ['permissionMode: [plan]', { permissionMode: 'plan' }],
    ['permissionMode: 7', { permissionMode: 'plan' }],
    ['isolation: container', { isolation: 'worktree' }],
    ['isolation: true', { isolation: 'worktree' }],
    ['effort: xhigh', { effort: 'high' }],
  ])('%s becomes %j', (line, part) => {
    const file = agentOf(goodFile(line))
    expect(file.definition).toMatchObject(part)
    expect(codesOf(file)).toEqual(['warning field-unreadable:4'])
  })

  it('an unknown model is kept, as only its provider knows it', () => {
    const file = agentOf(goodFile('model: sonet'))
    expect(file.definition.model).toBe('sonet')
    expect(file.diagnostics).toMatchObject([{ code: 'model-unknown', line: 4 }])
    expect(file.diagnostics[0]?.message).toContain('Did you mean "sonnet"?')
  })
})

describe('mcpServers', () => {
  const serversOf = (...lines: readonly string[]) =>
    agentOf(goodFile('mcpServers:', ...lines)).definition.mcpServers
  const server = { type: 'stdio', command: 'x', args: [], env: {} }

  it.each([
    [
      ['  - github', '  - docs'],
      ['github', 'docs'],
    ],
    [['  - docs: {command: x}'], [{ name: 'docs', config: server }]],
    [['  - name: docs', '    command: x'], [{ name: 'docs', config: server }]],
    [
      ['  docs:', '    command: x', '  github:'],
      [{ name: 'docs', config: server }, 'github'],
    ],
    [['  "github, docs"'], ['github', 'docs']],
  ])('%j are servers', (lines, servers) => {
    expect(serversOf(...lines)).toEqual(servers)
  })

  it('that cannot be read are left out, the others stay', () => {
    const file = agentOf(goodFile('mcpServers:', '  - github', '  - bad: {url: "ftp://x"}', '  - 3'))
    expect(file.definition.mcpServers).toEqual(['github'])
    expect(codesOf(file)).toEqual(['warning mcp-server-unreadable:4', 'warning mcp-server-unreadable:4'])
  })

  it('with keys that are not honoured say so', () => {
    const file = agentOf(goodFile('mcpServers:', '  docs: {command: x, sandbox: true}'))
    expect(file.definition.mcpServers).toEqual([{ name: 'docs', config: server }])
    expect(codesOf(file)).toEqual(['warning mcp-key-unknown:4'])
  })
})
