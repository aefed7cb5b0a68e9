import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PermissionMode } from '../../../src/definitions/permission-mode.ts'
import {
  type Ceiling,
  ceilingOf,
  decide,
  type PermissionPolicy,
  type PermissionRequest,
} from '../../../src/definitions/permissions/decide.ts'
import { isNarrower, modeDiagnostic, resolveChildMode } from '../../../src/definitions/permissions/modes.ts'
import { refusalMessage, suggestRules } from '../../../src/definitions/permissions/refusal-message.ts'
import { CWD, request, rules } from './rules-for-tests.ts'

const policyOf = (more: Partial<PermissionPolicy> = {}): PermissionPolicy => ({
  mode: 'default',
  allow: [],
  deny: [],
  ceilings: [],
  ...more,
})
const width = { deny: 0, ask: 1, classify: 2, allow: 3 } as const
const widthOf = (call: PermissionRequest, policy: PermissionPolicy): number =>
  width[decide(call, policy).decision]

const read = request('Read', 'a.ts', { isReadOnly: true })
const readOutside = request('Read', '/etc/hosts', { isReadOnly: true, isInsideCwd: false })
const edit = request('Edit', 'a.ts', { writesPath: 'a.ts' })
const editOutside = request('Edit', '/x', { writesPath: '/x', isInsideCwd: false })
const bash = request('Bash', 'npm test')

describe('what a mode alone decides', () => {
  it.each([
    // mode, read, read outside, edit, edit outside, Bash
    ['plan', 'allow', 'ask', 'deny', 'deny', 'deny'],
    ['dontAsk', 'allow', 'deny', 'deny', 'deny', 'deny'],
    ['default', 'allow', 'ask', 'ask', 'ask', 'ask'],
    ['bubble', 'allow', 'ask', 'ask', 'ask', 'ask'],
    ['acceptEdits', 'allow', 'ask', 'allow', 'ask', 'ask'],
    ['auto', 'allow', 'classify', 'classify', 'classify', 'classify'],
    ['bypassPermissions', 'allow', 'allow', 'allow', 'allow', 'allow'],
  ] as const)('%s', (mode, ...expected) => {
    const calls = [read, readOutside, edit, editOutside, bash]
    const decisions = calls.map((call) => decide(call, policyOf({ mode })))
    expect(decisions.map(({ decision }) => decision)).toEqual(expected)
    expect(new Set(decisions.map(({ by }) => by))).toEqual(new Set([mode]))
  })

  it('is a strict partial order', () => {
    const modes = PermissionMode.options
    for (const a of modes) {
      expect(isNarrower(a, a)).toBe(false)
      for (const b of modes) {
        if (isNarrower(a, b)) expect(isNarrower(b, a)).toBe(false)
        for (const c of modes) if (isNarrower(a, b) && isNarrower(b, c)) expect(isNarrower(a, c)).toBe(true)
      }
    }
    expect(isNarrower('plan', 'dontAsk')).toBe(true)
    expect(isNarrower('acceptEdits', 'bypassPermissions')).toBe(true)
    expect(isNarrower('default', 'bubble') || isNarrower('bubble', 'default')).toBe(false)
  })

  it('says which modes are not whole yet, and as what they decide', () => {
    const diagnostics = PermissionMode.options.flatMap((mode) => {
      const diagnostic = modeDiagnostic(mode)
      return diagnostic === undefined ? [] : [{ mode, ...diagnostic }]
    })
    expect(diagnostics.map(({ mode }) => mode)).toEqual(['bubble'])
    for (const { mode, severity, code, message } of diagnostics) {
      expect([severity, code]).toEqual(['warning', 'mode-not-complete'])
      expect(message).toMatch(new RegExp(`"${mode}".* decides as "default"`))
    }
  })

  it.each([
    ['default', 'permission mode "default" asks for approval'],
    ['dontAsk', 'permission mode "dontAsk" refuses what no rule allows'],
    ['bypassPermissions', 'permission mode "bypassPermissions" permits it'],
  ] as const)('is said with its reason: %s', (mode, reason) => {
    expect(decide(bash, policyOf({ mode })).reason).toBe(reason)
  })

  it('is told as the own mode of the agent where an ancestor has one that decides alike', () => {
    const alike: Ceiling = { agent: 'a1', mode: 'bubble', deny: [] }
    expect(decide(bash, policyOf({ mode: 'default', ceilings: [alike] })).by).toBe('default')
  })
})

describe('the mode of a child', () => {
  it.each([
    // the parent's, the definition's own, the child's, and why
    ['default', undefined, 'default', 'parent'],
    ['plan', 'plan', 'plan', 'parent'],
    ['acceptEdits', 'plan', 'acceptEdits', 'parent: acceptEdits holds for the whole tree'],
    [
      'default',
      'acceptEdits',
      'default',
      'parent: the definition of tester asks for acceptEdits, which is wider',
    ],
    ['default', 'plan', 'plan', 'definition tester'],
  ] as const)('of a parent in %s with a definition for %s is %s', (parent, own, value, rule) => {
    const definition = { agentType: 'tester', ...(own !== undefined && { permissionMode: own }) }
    expect(resolveChildMode(parent, definition)).toEqual({ value, rule })
  })
})

describe('the order of rules and modes', () => {
  it('lets a deny rule win over an allow rule and over every mode', () => {
    const policy = policyOf({
      mode: 'bypassPermissions',
      allow: rules('allow', 'Bash'),
      deny: rules('deny', 'Bash(npm:*)'),
    })
    expect(decide(bash, policy)).toEqual({
      decision: 'deny',
      by: 'Bash(npm:*)',
      reason: 'the deny rule Bash(npm:*) (test) forbids it',
      rule: policy.deny[0],
    })
  })

  it('takes deny rules generously: a command that could run what they name is enough', () => {
    const policy = policyOf({ mode: 'bypassPermissions', deny: rules('deny', 'Bash(npm publish)') })
    expect(decide(request('Bash', 'cd dist && npm publish --tag x'), policy).decision).toBe('deny')
  })

  it('takes allow rules and the limits of a definition to the letter', () => {
    const exploring = request('Agent', 'Explore')
    const explore = rules('allow', 'Agent(explore)')
    expect(decide(exploring, policyOf({ allow: explore })).decision).toBe('ask')
    expect(decide(exploring, policyOf({ mode: 'bypassPermissions', only: explore })).decision).toBe('deny')
  })

  it('lets an allow rule win over asking and over dontAsk', () => {
    const allow = rules('allow', 'Bash(npm test)')
    expect(decide(bash, policyOf({ allow }))).toEqual({
      decision: 'allow',
      by: 'Bash(npm test)',
      reason: 'the allow rule Bash(npm test) (test) permits it',
      rule: allow[0],
    })
    expect(decide(bash, policyOf({ allow, mode: 'dontAsk' })).decision).toBe('allow')
  })

  it('names every rule that lets a part of a command line pass', () => {
    const allow = rules('allow', 'Bash(npm test)', 'Bash(tail:*)', 'Bash(head:*)')
    expect(decide(request('Bash', 'npm test | tail -3'), policyOf({ allow }))).toEqual({
      decision: 'allow',
      by: 'Bash(npm test), Bash(tail:*)',
      reason: 'the allow rules Bash(npm test) (test), Bash(tail:*) (test) permit it',
      rule: allow[0],
    })
  })

  it('lets an ask rule win over allow rules and modes, but not over a deny rule or plan', () => {
    const held = policyOf({
      mode: 'bypassPermissions',
      allow: rules('allow', 'Bash'),
      ask: rules('ask', 'Bash(npm:*)'),
    })
    expect(decide(bash, held)).toMatchObject({
      decision: 'ask',
      by: 'Bash(npm:*)',
      reason: 'the ask rule Bash(npm:*) (test) wants approval for it',
    })
    expect(decide(request('Bash', 'ls'), held).decision).toBe('allow')
    expect(decide(bash, { ...held, deny: rules('deny', 'Bash') }).decision).toBe('deny')
    expect(decide(bash, { ...held, mode: 'plan' })).toMatchObject({ decision: 'deny', by: 'plan' })
  })

  it('refuses what an ask rule is for where nobody is to be asked', () => {
    const held = policyOf({
      mode: 'dontAsk',
      allow: rules('allow', 'Bash'),
      ask: rules('ask', 'Bash(npm:*)'),
    })
    expect(decide(bash, held)).toMatchObject({ decision: 'deny', by: 'Bash(npm:*)' })
    expect(decide(bash, held).reason).toContain('permission mode "dontAsk" asks nobody')
    expect(refusalMessage(bash, decide(bash, held))).not.toContain('--allowedTools')
  })

  it('takes ask rules generously, as deny rules', () => {
    const held = policyOf({ mode: 'bypassPermissions', ask: rules('ask', 'Bash(npm publish)', 'Read(.env)') })
    expect(decide(request('Bash', 'cd dist && npm publish --tag x'), held).decision).toBe('ask')
    expect(decide(request('Grep', 'x/.ENV', { isReadOnly: true }), held).decision).toBe('ask')
  })

  it('lets no allow rule change anything in plan, own or of an ancestor', () => {
    const allow = rules('allow', 'Bash', 'Edit')
    expect(decide(bash, policyOf({ allow, mode: 'plan' })).decision).toBe('deny')
    const planner: Ceiling = { agent: 'a1', mode: 'plan', deny: [] }
    const decided = decide(edit, policyOf({ allow, mode: 'bypassPermissions', ceilings: [planner] }))
    expect(decided).toEqual({
      decision: 'deny',
      by: 'plan',
      reason: 'permission mode "plan" of a1, an ancestor, lets nothing be changed',
    })
  })

  it('holds an agent to the limits of its definition', () => {
    const only = rules('allow', 'Bash(git log:*)')
    const policy = policyOf({ mode: 'bypassPermissions', only })
    expect(decide(bash, policy)).toMatchObject({ decision: 'deny', by: 'Bash(git log:*)' })
    expect(decide(request('Bash', 'git log -3'), policy).decision).toBe('allow')
    expect(decide(edit, policy).decision).toBe('allow')
    const two = rules('allow', 'Bash(git log:*)', 'Bash(git show:*)')
    expect(decide(bash, policyOf({ only: two })).reason).toBe(
      "the agent's definition limits it to Bash(git log:*), Bash(git show:*)",
    )
  })
})

describe('ceilings', () => {
  it('take down the mode and the deny rules that are marked, not the others', () => {
    const own = rules('deny', 'Edit').map((rule) => ({ ...rule, inheritable: false }))
    const parent = policyOf({ mode: 'acceptEdits', deny: [...own, ...rules('deny', 'Write')] })
    const ceiling = ceilingOf('a1', parent)
    expect(ceiling).toEqual({ agent: 'a1', mode: 'acceptEdits', deny: rules('deny', 'Write') })
    expect(decide(edit, policyOf({ mode: 'acceptEdits', ceilings: [ceiling] })).decision).toBe('allow')
    expect(
      decide(request('Write', 'a.ts', { writesPath: 'a.ts' }), policyOf({ ceilings: [ceiling] })).reason,
    ).toBe('the deny rule Write (test) of a1, an ancestor, forbids it')
  })

  it('take down ask rules that are marked, and the tools of the tree', () => {
    const ask = rules('ask', 'Bash(npm:*)')
    const ceiling = ceilingOf('a1', policyOf({ mode: 'bypassPermissions', ask }))
    const below = policyOf({ mode: 'bypassPermissions', ceilings: [ceiling] })
    expect(decide(bash, below)).toMatchObject({ decision: 'ask' })
    expect(decide(bash, below).reason).toContain('of a1, an ancestor,')
    const limited = { ...ceiling, only: rules('allow', 'Read', 'Bash(npm test)') }
    const inTree = policyOf({ mode: 'bypassPermissions', ceilings: [limited] })
    expect(decide(bash, inTree).decision).toBe('ask')
    expect(decide(edit, inTree)).toMatchObject({
      decision: 'deny',
      reason: 'a1, an ancestor, limits its tree to Read, Bash(npm test)',
    })
    const nothing = policyOf({ mode: 'bypassPermissions', ceilings: [{ ...limited, only: [] }] })
    expect(decide(read, nothing)).toMatchObject({ decision: 'deny', by: 'no tools' })
  })

  it('hold for the folders of the ancestor also where the child works elsewhere', () => {
    const parent = policyOf({ mode: 'bypassPermissions', deny: rules('deny', 'Read(./secrets/**)') })
    const child = policyOf({ mode: 'bypassPermissions', ceilings: [ceilingOf('a1', parent, CWD)] })
    const call = request('Read', `${CWD}/secrets/key`, { cwd: `${CWD}/sub`, isReadOnly: true })
    expect(decide(call, child)).toMatchObject({ decision: 'deny', by: 'Read(./secrets/**)' })
    const unplaced = policyOf({ mode: 'bypassPermissions', ceilings: [ceilingOf('a1', parent)] })
    expect(decide(call, unplaced).decision).toBe('allow')
  })

  it('are the same lists as long as the rules are the same', () => {
    const own = rules('deny', 'Edit').map((rule) => ({ ...rule, inheritable: false }))
    const parent = policyOf({ deny: [...own, ...rules('deny', 'Write')] })
    expect(ceilingOf('a1', parent).deny).toBe(ceilingOf('a2', parent).deny)
  })

  it('narrow a running child at once when its parent is narrowed', () => {
    const child = (parentMode: PermissionMode): PermissionPolicy =>
      policyOf({ mode: 'bypassPermissions', ceilings: [{ agent: 'a1', mode: parentMode, deny: [] }] })
    expect(decide(bash, child('bypassPermissions')).decision).toBe('allow')
    expect(decide(bash, child('default'))).toMatchObject({ decision: 'ask', by: 'default' })
  })
})

describe('laws', () => {
  const mode = fc.constantFrom(...PermissionMode.options)
  const ruleText = fc.constantFrom(
    'Bash',
    'Bash(npm:*)',
    'Bash(npm test)',
    'Read',
    'Read(src/**)',
    'Edit(./**)',
    'Write(//etc/**)',
    'Agent(Explore)',
    'mcp__a__*',
    'Bash(rm:*)',
  )
  const ruleTexts = fc.array(ruleText, { maxLength: 5 })
  const call = fc.oneof(
    fc
      .constantFrom('npm test', 'npm test; rm x', 'rm x', 'ls')
      .chain((command) => fc.boolean().map((isReadOnly) => request('Bash', command, { isReadOnly }))),
    fc
      .tuple(fc.constantFrom('Read', 'Grep'), fc.constantFrom('src/a', 'b', '/etc/x'))
      .map(([tool, path]) => request(tool, path, { isReadOnly: true, isInsideCwd: !path.startsWith('/') })),
    fc
      .tuple(fc.constantFrom('Edit', 'Write'), fc.constantFrom('src/a', 'b', '/etc/x'))
      .map(([tool, path]) => request(tool, path, { writesPath: path, isInsideCwd: !path.startsWith('/') })),
    fc.constantFrom(request('Agent', 'Explore', { isReadOnly: true }), request('mcp__a__b')),
  )
  const ceiling: fc.Arbitrary<Ceiling> = fc.record({
    agent: fc.constant('a1'),
    mode,
    deny: ruleTexts.map((texts) => rules('deny', ...texts)),
    ask: ruleTexts.map((texts) => rules('ask', ...texts)),
  })
  const policy: fc.Arbitrary<PermissionPolicy> = fc.record({
    mode,
    allow: ruleTexts.map((texts) => rules('allow', ...texts)),
    deny: ruleTexts.map((texts) => rules('deny', ...texts)),
    ask: ruleTexts.map((texts) => rules('ask', ...texts)),
    ceilings: fc.array(ceiling, { maxLength: 2 }),
  })

  it('one more deny rule never allows more', () => {
    fc.assert(
      fc.property(call, policy, ruleText, (asked, held, text) => {
        const narrowed = { ...held, deny: [...held.deny, ...rules('deny', text)] }
        expect(widthOf(asked, narrowed)).toBeLessThanOrEqual(widthOf(asked, held))
      }),
      { numRuns: 300 },
    )
  })

  it('one more ask rule never allows more', () => {
    fc.assert(
      fc.property(call, policy, ruleText, (asked, held, text) => {
        const narrowed = { ...held, ask: [...(held.ask ?? []), ...rules('ask', text)] }
        expect(widthOf(asked, narrowed)).toBeLessThanOrEqual(widthOf(asked, held))
      }),
      { numRuns: 300 },
    )
  })

  it('a definition never widens: whatever it limits a tool to, no more is allowed than without', () => {
    fc.assert(
      fc.property(call, policy, ruleTexts, (asked, held, texts) => {
        const limited = { ...held, only: rules('allow', ...texts) }
        expect(widthOf(asked, limited)).toBeLessThanOrEqual(widthOf(asked, held))
      }),
      { numRuns: 300 },
    )
  })

  it('one more allow rule never allows less, one more ceiling never more', () => {
    fc.assert(
      fc.property(call, policy, ruleText, ceiling, (asked, held, text, above) => {
        const widened = { ...held, allow: [...held.allow, ...rules('allow', text)] }
        expect(widthOf(asked, widened)).toBeGreaterThanOrEqual(widthOf(asked, held))
        const capped = { ...held, ceilings: [...held.ceilings, above] }
        expect(widthOf(asked, capped)).toBeLessThanOrEqual(widthOf(asked, held))
      }),
      { numRuns: 300 },
    )
  })

  it('the order of rules and ceilings does not matter', () => {
    fc.assert(
      fc.property(call, policy, (asked, held) => {
        const reversed = {
          ...held,
          allow: held.allow.toReversed(),
          deny: held.deny.toReversed(),
          ask: (held.ask ?? []).toReversed(),
          ceilings: held.ceilings.toReversed(),
        }
        expect(decide(asked, reversed).decision).toBe(decide(asked, held).decision)
      }),
    )
  })

  it('a child is never wider than any ancestor would be with the same allow rules', () => {
    fc.assert(
      fc.property(call, policy, (asked, held) => {
        for (const { mode, deny, ask = [] } of held.ceilings) {
          const ancestor = { mode, deny, ask, allow: held.allow, ceilings: [] }
          expect(widthOf(asked, held)).toBeLessThanOrEqual(widthOf(asked, ancestor))
        }
      }),
      { numRuns: 300 },
    )
  })

  it('a mode given to a child is never wider than its parent and keeps what a parent set for the tree', () => {
    for (const parent of PermissionMode.options)
      for (const own of [undefined, ...PermissionMode.options]) {
        const definition = { agentType: 'x', ...(own !== undefined && { permissionMode: own }) }
        const { value } = resolveChildMode(parent, definition)
        expect(isNarrower(parent, value)).toBe(false)
        if (own === undefined || ['bypassPermissions', 'acceptEdits', 'auto'].includes(parent))
          expect(value).toBe(parent)
        else if (!isNarrower(parent, own)) expect(value).toBe(own)
      }
  })

  it('the rules that a refusal suggests allow the call', () => {
    fc.assert(
      fc.property(call, fc.constantFrom('default', 'dontAsk', 'acceptEdits'), (asked, held) => {
        const texts = suggestRules(asked)
        expect(texts).not.toEqual([])
        expect(decide(asked, policyOf({ mode: held, allow: rules('allow', ...texts) })).decision).toBe(
          'allow',
        )
      }),
    )
  })
})

describe('the message of a refusal', () => {
  const messageOf = (call: PermissionRequest, policy: PermissionPolicy): string =>
    refusalMessage(call, decide(call, policy))

  it('names the rule and the flag that would allow a plain command', () => {
    expect(messageOf(bash, policyOf())).toBe(
      'Bash(npm test) was refused: it needs approval (permission mode "default" asks for approval), and nobody can be asked here. ' +
        'The user can allow it with the rule `Bash(npm test:*)` (`--allowedTools`). ' +
        'Do not try to reach the same end by another way: go on with what is allowed, or say in your report what you could not do.',
    )
  })

  it('names the mode that would allow an edit, but not for one outside of the working directory', () => {
    expect(messageOf(edit, policyOf())).toContain('`Edit(./a.ts)`')
    expect(messageOf(edit, policyOf())).toContain('--permission-mode acceptEdits')
    expect(messageOf(editOutside, policyOf())).toContain('`Edit(//x)`')
    expect(messageOf(editOutside, policyOf())).not.toContain('acceptEdits')
  })

  it('names a rule for each command of a line, and for none that needs no rule', () => {
    const message = messageOf(request('Bash', 'npm test 2>&1 | tail -n 3 || true'), policyOf())
    expect(message).toContain('the rules `Bash(npm test:*)`, `Bash(tail -n 3)` (`--allowedTools`)')
    expect(suggestRules(request('Bash', 'git ls-files | xargs wc -l'))).toEqual([
      'Bash(git ls-files:*)',
      'Bash(wc -l:*)',
    ])
    expect(suggestRules(request('Bash', 'a; b'))).toEqual(['Bash(a)', 'Bash(b)'])
  })

  it.each([
    ['npm test > out', 'No rule covers it: it writes to the file out. '],
    ['PATH=/x; npm test', 'No rule covers it: it sets the variable PATH. '],
    ['npm test "', 'No rule covers it: it is no complete shell command'],
  ])('says what no rule covers, and asks for plain calls: %j', (command, reason) => {
    const message = messageOf(request('Bash', command), policyOf())
    expect(message).toContain(reason)
    expect(message).toContain('plain calls one by one')
  })

  it('understands plain commands only where nobody read them', () => {
    const { shell: _, ...unread } = request('Bash', 'npm test | tail')
    expect(messageOf(unread, policyOf())).toContain('it is more than a plain command')
    const { shell: _read, ...plain } = bash
    expect(decide(plain, policyOf({ allow: rules('allow', 'Bash(npm:*)') })).decision).toBe('allow')
    expect(
      decide(unread, policyOf({ mode: 'bypassPermissions', deny: rules('deny', 'Bash(rm:*)') })).decision,
    ).toBe('deny')
  })

  it('suggests an exact command where the second word is no subcommand', () => {
    expect(suggestRules(request('Bash', 'rm -rf build'))).toEqual(['Bash(rm -rf build)'])
    expect(suggestRules(request('Bash', 'echo ":)"'))).toEqual([])
  })

  it('says what refused, and suggests nothing, when it was a deny rule or plan', () => {
    const message = messageOf(bash, policyOf({ deny: rules('deny', 'Bash') }))
    expect(message).toContain('the deny rule Bash (test) forbids it')
    expect(message).not.toContain('--allowedTools')
    expect(messageOf(bash, policyOf({ mode: 'plan' }))).toContain(
      'permission mode "plan" lets nothing be changed',
    )
  })

  it('tells how to allow what dontAsk refused', () => {
    expect(messageOf(bash, policyOf({ mode: 'dontAsk' }))).toContain('`Bash(npm test:*)`')
  })

  it('shows a long command by its start, on one line', () => {
    const message = messageOf(request('Bash', `echo a\n${'b'.repeat(500)}`), policyOf())
    expect(message.slice(0, 140)).toContain('Bash(echo a bbb')
    expect(message).not.toContain('b'.repeat(120))
  })
})
