/** Permission rules and the decision over them: total, fast, and never wider by accident (law 6). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { UsageError } from '../../src/cli/errors.ts'
import { splitRules } from '../../src/cli/rules.ts'
import type {
  PermissionDecision,
  PermissionPolicy,
  PermissionRequest,
} from '../../src/definitions/permissions/decide.ts'
import { decide } from '../../src/definitions/permissions/decide.ts'
import { refusalMessage } from '../../src/definitions/permissions/refusal-message.ts'
import type { PermissionRule, RuleKind } from '../../src/definitions/permissions/rule.ts'
import { parseRules } from '../../src/definitions/permissions/rule.ts'
import { loadShellReader } from '../../src/definitions/permissions/shell/read-shell.ts'
import { expectLinear, fuzz, sizeOf } from './support/fuzz.ts'
import { hostileText, mutatedText } from './support/mutations.ts'

const readBash = await loadShellReader()

const MODES = ['default', 'acceptEdits', 'plan', 'dontAsk', 'auto', 'bypassPermissions', 'bubble'] as const

const goodRule = fc.constantFrom(
  ...[
    'Bash',
    'Bash(git log:*)',
    'Bash(rm *)',
    'Bash(npm run test)',
    'Read(./src/**)',
    'Edit(//etc/**)',
    'Read(~/.ssh/**)',
  ],
  ...[
    'Write({a,b}/*.ts)',
    'Agent(Explore, general-purpose)',
    'mcp__server',
    'mcp__server__*',
    '*',
    'Grep',
    'Task(Explore)',
    'WebFetch(domain:example.org)',
    'Skill(deploy:*)',
  ],
)
const goodSubject = fc.constantFrom(
  ...[
    'git log --oneline',
    'rm -rf /',
    'npm run test',
    'a=1 $(git log) | rm x',
    "bash -c 'git log'",
    'src/a.ts',
    '/etc/passwd',
  ],
  ...['../x', '~/.ssh/id_rsa', 'a/b.ts', 'Explore', ''],
)
const anyRuleText = fc.oneof({ weight: 5, arbitrary: mutatedText(goodRule) }, goodRule, hostileText)
const anySubject = fc.oneof({ weight: 3, arbitrary: mutatedText(goodSubject) }, goodSubject, hostileText)

const anyRequest: fc.Arbitrary<PermissionRequest> = fc
  .record({
    toolName: fc.oneof(
      {
        weight: 6,
        arbitrary: fc.constantFrom('Bash', 'Read', 'Write', 'Edit', 'Grep', 'Agent', 'mcp__server__tool'),
      },
      hostileText,
    ),
    subject: fc.option(anySubject, { nil: undefined }),
    writesPath: fc.option(anySubject, { nil: undefined }),
    resolvedPath: fc.option(anySubject, { nil: undefined }),
    cwd: fc.constantFrom('/project', '/', '/a b/[x]', 'C:\\project'),
    home: fc.constantFrom(undefined, '/home/me'),
    isReadOnly: fc.boolean(),
    isInsideCwd: fc.boolean(),
  })
  .map((request) =>
    request.toolName === 'Bash' && request.subject !== undefined
      ? { ...request, shell: readBash(request.subject) }
      : request,
  )

const rulesOf = (texts: readonly string[], kind: RuleKind): readonly PermissionRule[] =>
  parseRules(texts, { kind, source: 'test' }).rules

const policyOf = (texts: {
  readonly mode: (typeof MODES)[number]
  readonly allow: readonly string[]
  readonly deny: readonly string[]
  readonly ask?: readonly string[]
  readonly ceiling: readonly string[]
  readonly ceilingAsk?: readonly string[]
  readonly above?: (typeof MODES)[number]
}): PermissionPolicy => ({
  mode: texts.mode,
  allow: rulesOf(texts.allow, 'allow'),
  deny: rulesOf(texts.deny, 'deny'),
  ask: rulesOf(texts.ask ?? [], 'ask'),
  ceilings: [
    {
      agent: 'parent',
      mode: texts.above ?? texts.mode,
      deny: rulesOf(texts.ceiling, 'deny'),
      ask: rulesOf(texts.ceilingAsk ?? [], 'ask'),
      cwd: '/elsewhere',
    },
  ],
})

const someTexts = fc.array(anyRuleText, { maxLength: 3 })
const anyPolicyTexts = fc.record({
  mode: fc.constantFrom(...MODES),
  allow: someTexts,
  deny: someTexts,
  ask: someTexts,
  ceiling: someTexts,
  ceilingAsk: someTexts,
  above: fc.constantFrom(...MODES),
})

const WIDTH: Readonly<Record<PermissionDecision['decision'], number>> = {
  deny: 0,
  ask: 1,
  classify: 2,
  allow: 3,
}

describe('any rules and any call', () => {
  fuzz(
    'have one decision, with its reason in words',
    800,
    fc.tuple(anyPolicyTexts, anyRequest),
    ([texts, request]) => {
      const decision = decide(request, policyOf(texts))
      expect(Object.keys(WIDTH)).toContain(decision.decision)
      expect(decision.by).not.toBe('')
      expect(decision.reason).not.toBe('')
      if (decision.decision !== 'allow') expect(refusalMessage(request, decision)).toContain('refused')
    },
  )

  const withOneMore = fc.tuple(anyPolicyTexts, anyRequest, anyRuleText)
  fuzz(
    'never allow more with one more deny rule, whatever it says',
    500,
    withOneMore,
    ([texts, request, more]) => {
      const before = decide(request, policyOf(texts))
      const after = decide(request, policyOf({ ...texts, deny: [...texts.deny, more] }))
      expect(WIDTH[after.decision]).toBeLessThanOrEqual(WIDTH[before.decision])
      const below = decide(request, policyOf({ ...texts, ceiling: [...texts.ceiling, more] }))
      expect(WIDTH[below.decision]).toBeLessThanOrEqual(WIDTH[before.decision])
    },
  )

  fuzz(
    'never allow more with one more ask rule, whatever it says',
    500,
    withOneMore,
    ([texts, request, more]) => {
      const before = decide(request, policyOf(texts))
      const after = decide(request, policyOf({ ...texts, ask: [...texts.ask, more] }))
      expect(WIDTH[after.decision]).toBeLessThanOrEqual(WIDTH[before.decision])
      const below = decide(request, policyOf({ ...texts, ceilingAsk: [...texts.ceilingAsk, more] }))
      expect(WIDTH[below.decision]).toBeLessThanOrEqual(WIDTH[before.decision])
    },
  )

  fuzz(
    'let no child do what its ancestor may not, with the same allow rules',
    500,
    fc.tuple(anyPolicyTexts, anyRequest),
    ([texts, request]) => {
      const child = policyOf(texts)
      for (const { mode, deny, ask = [] } of child.ceilings) {
        const ancestor = decide(
          { ...request, cwd: '/elsewhere' },
          { mode, deny, ask, allow: child.allow, ceilings: [] },
        )
        // A relative path says something else where the ancestor works; all else is the same.
        const isElsewhere = [...child.allow, ...deny, ...ask].some(({ toolName }) => toolName !== 'Bash')
        if (request.toolName === 'Bash' || !isElsewhere)
          expect(WIDTH[decide(request, child).decision]).toBeLessThanOrEqual(WIDTH[ancestor.decision])
      }
    },
  )

  fuzz(
    'decide the same in whatever order rules stand',
    300,
    fc.tuple(anyPolicyTexts, anyRequest),
    ([texts, request]) => {
      const turned = {
        ...texts,
        allow: texts.allow.toReversed(),
        deny: texts.deny.toReversed(),
        ask: texts.ask.toReversed(),
      }
      expect(decide(request, policyOf(turned)).decision).toBe(decide(request, policyOf(texts)).decision)
    },
  )

  fuzz(
    'lose no rule silently: each is in force, or a diagnostic says why not',
    1_000,
    anyRuleText,
    (text) => {
      for (const kind of ['allow', 'deny', 'ask'] as const) {
        const { rules, diagnostics } = parseRules([text], { kind, source: 'test' })
        expect(rules.length + diagnostics.length, `${kind} ${text}`).toBeGreaterThan(0)
      }
    },
  )

  /** Changes a person does not see: they may not take a deny rule's teeth. */
  const disguised = fc.tuple(
    fc.constantFrom<[string, string, string]>(
      ['Bash(rm:*)', 'Bash', 'rm -rf x'],
      ['Bash(git push)', 'Bash', 'git push'],
      ['Read(./secret/**)', 'Read', 'secret/key'],
      ['Edit(//etc/**)', 'Write', '/etc/passwd'],
      ['Agent(Explore)', 'Agent', 'Explore'],
    ),
    fc.array(fc.tuple(fc.nat(40), fc.constantFrom(' ', '\t', 'case', '\n')), { maxLength: 3 }),
  )
  fuzz(
    'stop what a deny rule names in another case and with other blanks around it',
    300,
    disguised,
    ([[rule, toolName, subject], how]) => {
      let text = rule
      for (const [, kind] of how) {
        if (kind === 'case')
          text =
            /^\w+/.exec(text)?.[0] === undefined ? text : text.replace(/^\w+/, (name) => name.toUpperCase())
        else text = `${kind}${text}${kind}`
      }
      const shell = toolName === 'Bash' ? { shell: readBash(subject) } : {}
      const request = { toolName, subject, cwd: '/project', isReadOnly: false, isInsideCwd: true, ...shell }
      const policy = policyOf({ mode: 'bypassPermissions', allow: [], deny: [text], ceiling: [] })
      expect(decide(request, policy).decision, text).toBe('deny')
    },
  )

  fuzz(
    'are split as typed: every character of every rule is in one, or the line is refused',
    800,
    anyRuleText,
    (text) => {
      try {
        const joined = splitRules(text).join('')
        expect(joined.replace(/[\s,]/g, '')).toBe(text.replace(/[\s,]/g, ''))
      } catch (error) {
        if (!(error instanceof UsageError)) throw error
      }
    },
  )
})

describe('time for a decision', () => {
  /** A shape is what is repeated, or what begins and what is repeated behind it. */
  const repeated = (size: number, shape: string | readonly [string, string]): string => {
    const [head, text] = typeof shape === 'string' ? ['', shape] : shape
    return head + text.repeat(Math.ceil(size / text.length)).slice(0, size)
  }
  const SHAPES: readonly (string | readonly [string, string])[] = [
    ...[
      'a',
      ' ',
      '(',
      ')',
      '{',
      '}',
      '{a,',
      '{,',
      ',',
      '$(',
      '${',
      '`',
      '"',
      "'",
      '\\',
      '<',
      '>',
      '<<',
      '&',
      ';',
      '*',
    ],
    ...[
      '*a',
      '?',
      '[',
      ']',
      '[a',
      '/',
      '../',
      './',
      'a/',
      '**/',
      '$x',
      '$',
      '=',
      'a=',
      '1>',
      '~',
      '#',
      '!',
      '\n',
      ' -x',
      'sudo ',
    ],
    ...[
      'if a;then ',
      'case x in ',
      'a)',
      '$((',
      '((',
      '[[ ',
      'a[',
      '${a[',
      '<<a\n',
      '@(',
      "$'",
      'f(){ ',
      '<(',
    ],
    ...[
      '"$(a ',
      "bash -c '",
      "eval '",
      'xargs ',
      'find . -exec ',
      "sed 's/[",
      'function f ',
      'coproc ',
      'a|',
      'x=(',
    ],
    ...['\u0001', '\ud800', 'é', 'e\u0301', '{a,b}', '"$(', "'$(`", '(a b)', 'git push '],
    ...[
      ['{', ','] as const,
      ['[', 'a'] as const,
      ['`', 'a'] as const,
      ['"', 'a '] as const,
      ['$(', 'a,'] as const,
    ],
  ]
  const DENY = [
    'Bash(git push *)',
    'Bash(rm:*)',
    'Bash(* --force)',
    'Read(./**/*secret*/**)',
    'Edit({a,b}/**)',
    '*x',
  ]
  const ALLOW = ['Bash(git log:*)', 'Read(./**/*.ts)', 'Edit(*a*b*c)']

  it.each(['Bash', 'Read', 'Edit', 'Agent'])(
    'of %s grows with the length of the call only',
    async (toolName) => {
      const policy = policyOf({ mode: 'default', allow: ALLOW, deny: DENY, ceiling: DENY })
      await expectLinear(
        sizeOf(6_000, 100_000),
        SHAPES,
        (shape, size): PermissionRequest => ({
          ...{ toolName, cwd: '/project', isReadOnly: false, isInsideCwd: true },
          subject: repeated(size, shape),
          resolvedPath: `/${repeated(size, shape)}`,
        }),
        (request) => {
          // As the engine does it: the command is read, then decided on.
          const { subject = '' } = request
          const read = toolName === 'Bash' ? { ...request, shell: readBash(subject) } : request
          return refusalMessage(read, decide(read, policy))
        },
      )
    },
  )

  it.each(['Bash', 'Read', 'Agent', 'Web'])(
    'by rules for %s grows with their length only',
    async (toolName) => {
      const requests = ['git push origin', 'a/b/c', `${'a'.repeat(200)}b`].map((subject) => ({
        ...{ toolName, subject, cwd: '/project', isReadOnly: false, isInsideCwd: true },
      }))
      await expectLinear(
        sizeOf(10_000, 100_000),
        SHAPES,
        (shape, size) => `${toolName}(${repeated(size, shape)})`,
        (text) => {
          const policy = policyOf({ mode: 'default', allow: [text], deny: [text], ceiling: [] })
          for (const request of requests) decide(request, policy)
        },
      )
    },
  )
})
