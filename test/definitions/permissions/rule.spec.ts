import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseRules, readRule } from '../../../src/definitions/permissions/rule.ts'

describe('reading a rule', () => {
  it.each([
    ['Bash', 'Bash', undefined],
    ['Bash(git log:*)', 'Bash', 'git log:*'],
    ['  Bash ( git log:* )  ', 'Bash', 'git log:*'],
    ['bash(ls)', 'Bash', 'ls'],
    ['Task(Explore)', 'Agent', 'Explore'],
    ['task', 'Agent', undefined],
    ['Agent(a, b)', 'Agent', 'a, b'],
    ['Bash(python -c "print(f(1))")', 'Bash', 'python -c "print(f(1))"'],
    ['Bash(*)', 'Bash', undefined],
    ['Read(*)', 'Read', '*'],
    ['mcp__git__*', 'mcp__git__*', undefined],
    ['mcp__Git__log', 'mcp__Git__log', undefined],
  ])('reads %j as tool %j with specifier %j', (text, toolName, specifier) => {
    expect(readRule(text)).toEqual({ kind: 'rule', toolName, specifier })
  })

  it.each([
    ['', undefined, 'name'],
    ['(x)', undefined, 'name'],
    ['Read, Write', undefined, 'name'],
    ['Bash(ls', 'Bash', 'not closed'],
    ['Bash(ls) ', 'Bash', undefined],
    ['Bash()', 'Bash', 'empty'],
    ['Bash(ls) Read(x)', 'Bash', 'closes before'],
  ])('finds what is wrong with %j', (text, toolName, problem) => {
    const read = readRule(text)
    if (problem === undefined) expect(read.kind).toBe('rule')
    else expect(read).toMatchObject({ kind: 'broken', toolName, problem: expect.stringContaining(problem) })
  })

  it('reads its own text back as the same rule', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('Bash', 'Read', 'Agent', 'mcp__a__b', 'Other'),
        fc.string(),
        (tool, inside) => {
          const [rule] = parseRules([`${tool}(${inside})`], { kind: 'deny', source: 's' }).rules
          const [again] = parseRules([rule?.text ?? ''], { kind: 'deny', source: 's' }).rules
          expect(again).toEqual(rule)
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('what cannot be read', () => {
  it('denies the whole tool when a deny rule is broken', () => {
    const { rules, diagnostics } = parseRules(['Bash(rm', '!(', 'Edit'], { kind: 'deny', source: 'settings' })
    expect(rules.map(({ text }) => text)).toEqual(['Bash', '!', 'Edit'])
    expect(diagnostics.map(({ severity, code }) => [severity, code])).toEqual([
      ['error', 'rule-unreadable'],
      ['error', 'rule-unreadable'],
    ])
    expect(diagnostics[0]?.message).toBe(
      'The deny rule "Bash(rm" (settings): its bracket is not closed; all of Bash is denied instead.',
    )
  })

  it('asks about the whole tool when an ask rule is broken', () => {
    const { rules, diagnostics } = parseRules(['Bash(rm'], { kind: 'ask', source: 'settings' })
    expect(rules.map(({ text }) => text)).toEqual(['Bash'])
    expect(diagnostics[0]?.message).toContain('all of Bash is asked about instead')
  })

  it('takes no exception to a path from the folder of its settings file', () => {
    const { rules, diagnostics } = parseRules(['Edit(/src/**)'], { kind: 'allow', source: 's', root: '/p' })
    expect(diagnostics).toEqual([])
    expect(rules[0]).toMatchObject({ root: '/p' })
  })

  it('allows nothing when an allow rule is broken', () => {
    const { rules, diagnostics } = parseRules(['Bash(ls', ''], { kind: 'allow', source: 'flags' })
    expect(rules).toEqual([])
    expect(diagnostics).toHaveLength(2)
  })

  it.each([
    ['allow', '*', 'bypassPermissions'],
    ['allow', 'Bash(a && b)', 'one plain command'],
    ['allow', 'Bash(cat $X:*)', 'one plain command'],
    ['allow', 'Bash(FOO=1:*)', 'one plain command'],
    ['allow', 'Bash(watch:*)', 'as in Bash(watch ls:*)'],
    ['allow', 'Edit(/etc/**)', 'write Edit(//etc/**)'],
    ['allow', 'WebFetch(x.org)', 'write WebFetch(domain:example.org)'],
    ['deny', 'WebFetch(x.org)', 'all of WebFetch is denied'],
    ['ask', 'TodoWrite(x)', 'all of TodoWrite is asked about'],
    ['allow', 'TodoWrite(x)', 'allows nothing'],
  ] as const)('warns that the %s rule %j does not do what it says', (kind, text, hint) => {
    const { diagnostics } = parseRules([text], { kind, source: 's' })
    expect(diagnostics).toEqual([expect.objectContaining({ severity: 'warning' })])
    expect(diagnostics[0]?.message).toContain(hint)
  })

  it('never throws, and says something about every text that gives no rule', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom('allow', 'deny', 'ask'), (text, kind) => {
        const { rules, diagnostics } = parseRules([text], { kind, source: 's' })
        expect(rules.length + diagnostics.length).toBeGreaterThan(0)
      }),
    )
  })
})
