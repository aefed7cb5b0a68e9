import { describe, expect, it } from 'vitest'
import { matches, readHookMatcher } from '../../../src/definitions/hooks/matcher.ts'

const isFor = (
  matcher: string | undefined,
  name: string | undefined,
  kind: 'tool' | 'other' = 'tool',
): boolean =>
  matches(matcher === undefined ? {} : { matcher }, name === undefined ? undefined : { kind, name })

describe('a matcher', () => {
  it.each<[string | undefined, string, boolean]>([
    [undefined, 'Bash', true],
    ['', 'Bash', true],
    [' * ', 'Bash', true],
    ['Bash', 'Bash', true],
    ['bash', 'Bash', true],
    ['Bash', 'BashOutput', false],
    ['Write', 'TodoWrite', false],
    ['Edit|Write', 'Write', true],
    ['Edit | Write', 'Edit', true],
    ['Edit,Write', 'Write', true],
    ['Edit|Write', 'NotebookEdit', false],
    ['Task', 'Agent', true],
    ['Agent', 'Task', true],
    ['Task', 'TaskCreate', false],
    ['^Task$', 'Agent', true],
    ['^Agent$', 'Task', true],
    ['Notebook.*', 'NotebookEdit', true],
    ['^Edit', 'NotebookEdit', false],
    ['Edit$', 'NotebookEdit', true],
    ['^(Edit|Write)$', 'Write', true],
    ['^(Edit|Write)$', 'TodoWrite', false],
    ['.*', 'anything', true],
    ['mcp__github', 'mcp__github__create_issue', true],
    ['mcp__github', 'mcp__githubber__x', false],
    ['mcp__github__.*', 'mcp__github__create_issue', true],
    ['mcp__.*__write.*', 'mcp__files__write_file', true],
  ])('%j is for the tool %s: %s', (matcher, name, expected) => {
    expect(isFor(matcher, name)).toBe(expected)
  })

  it.each<[string, string, boolean]>([
    ['code-reviewer', 'code-reviewer', true],
    ['code-reviewer', 'my-code-reviewer-2', false],
    ['Code-Reviewer', 'code-reviewer', false],
    ['plugin:prüfer', 'plugin:prüfer', true],
    ['startup|resume', 'resume', true],
    ['Task', 'Agent', false],
    ['review', 'reviewer', false],
    ['review.*', 'reviewer', true],
  ])('%j is for what is no tool, %s: %s', (matcher, name, expected) => {
    expect(isFor(matcher, name, 'other')).toBe(expected)
  })

  it('is for each event that has no subject', () => {
    expect(isFor('Bash', undefined)).toBe(true)
    expect(isFor('^x$', undefined)).toBe(true)
  })

  it.each(['^(?!Bash)', '(a)\\1', '(?<=x)y', '(', `${'a'.repeat(600)}.*`])(
    'is refused when it cannot be tried in linear time or is no expression: %j',
    (matcher) => {
      expect(readHookMatcher(matcher)).toEqual({ kind: 'refused', why: expect.stringMatching(/\w/) })
      expect(isFor(matcher, 'Read')).toBe(false)
      expect(isFor(matcher, undefined)).toBe(false)
    },
  )

  it('does not hang on an expression that is made to', () => {
    const startedAt = performance.now()
    expect(isFor('^(a+)+$', `${'a'.repeat(900)}!`)).toBe(false)
    expect(isFor('^(\\w|a|aa)*$', `${'a'.repeat(900)}!`)).toBe(false)
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })

  it('is not evaded by a name without end', () => {
    expect(isFor('^Bash.*$', 'x'.repeat(1_000_000))).toBe(true)
  })
})
