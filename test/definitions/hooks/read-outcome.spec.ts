import { describe, expect, it } from 'vitest'
import { HOOK_EVENTS, type HookEvent } from '../../../src/definitions/hook-declaration.ts'
import { HOOK_EVENT_TRAITS } from '../../../src/definitions/hooks/event-traits.ts'
import {
  type HookAnswer,
  type HookProblemCode,
  MAX_HOOK_TEXT,
} from '../../../src/definitions/hooks/hook-outcome.ts'
import { type HookExit, readHookOutcome } from '../../../src/definitions/hooks/read-outcome.ts'
import { type HookOutput, readHookOutput } from '../../../src/definitions/hooks/read-output.ts'

const exit = (more: Partial<HookExit> = {}): HookExit => ({
  exitCode: 0,
  stdout: '',
  stderr: '',
  timedOut: false,
  ...more,
})
const outcomeOf = (event: HookEvent, more: Partial<HookExit>) => readHookOutcome(exit(more), event)
const printed = (event: HookEvent, output: unknown) => outcomeOf(event, { stdout: JSON.stringify(output) })
const specific = (event: HookEvent, fields: object) => ({
  hookSpecificOutput: { hookEventName: event, ...fields },
})
const answered = (answer: HookAnswer, ...codes: HookProblemCode[]) => ({
  kind: 'answered',
  answer,
  problems: codes.map((code) => ({ code, message: expect.stringMatching(/\w/) })),
})

describe('exit code 0 with plain text', () => {
  it.each<HookEvent>(['SubagentStart', 'SessionStart', 'UserPromptSubmit'])(
    'is shown to the agent at %s',
    (event) => {
      expect(outcomeOf(event, { stdout: ' The branch is frozen – 凍結.\n' })).toEqual(
        answered({ context: 'The branch is frozen – 凍結.' }),
      )
    },
  )

  it.each(HOOK_EVENTS.filter((event) => HOOK_EVENT_TRAITS[event].plainText === 'nothing'))(
    'says nothing at %s, on whichever stream it is',
    (event) => {
      expect(outcomeOf(event, { stdout: 'formatted 3 files', stderr: 'warning' })).toEqual(answered({}))
    },
  )

  it('says nothing where it is blank', () => {
    expect(outcomeOf('SessionStart', { stdout: ' \n\t ' })).toEqual(answered({}))
    expect(outcomeOf('WorktreeCreate', { stdout: '\n' })).toEqual(answered({}))
  })

  it('is the path of the new folder at WorktreeCreate, if it is one', () => {
    expect(outcomeOf('WorktreeCreate', { stdout: '/tmp/trees/fix a\n' })).toEqual(
      answered({ worktreePath: '/tmp/trees/fix a' }),
    )
    expect(printed('WorktreeCreate', specific('WorktreeCreate', { worktreePath: '/tmp/t' }))).toEqual(
      answered({ worktreePath: '/tmp/t' }),
    )
    for (const stdout of ['trees/fix', 'Cloning…\n/tmp/trees/fix', '/tmp/a\n/tmp/b'])
      expect(outcomeOf('WorktreeCreate', { stdout })).toEqual(answered({}, 'hook-output-unreadable'))
  })

  it('is text when it looks like JSON and is none, which is told', () => {
    expect(outcomeOf('SessionStart', { stdout: '{"decision": "block"' })).toEqual(
      answered({ context: '{"decision": "block"' }, 'hook-output-unreadable'),
    )
    expect(outcomeOf('PreToolUse', { stdout: '{decision: "block"}' })).toEqual(
      answered({}, 'hook-output-unreadable'),
    )
    expect(outcomeOf('SessionStart', { stdout: '["block"]' })).toEqual(answered({ context: '["block"]' }))
  })

  it('is never read as JSON when its middle is missing', () => {
    const stdout = JSON.stringify(specific('PreToolUse', { permissionDecision: 'allow' }))
    expect(outcomeOf('PreToolUse', { stdout, isCut: true })).toEqual(answered({}, 'hook-output-cut'))
  })

  it('is cut where an agent would have to read too much', () => {
    const outcome = outcomeOf('SessionStart', { stdout: '𝒳'.repeat(MAX_HOOK_TEXT) })
    const context = outcome.kind === 'answered' ? outcome.answer.context : undefined
    expect(context?.length).toBeLessThanOrEqual(MAX_HOOK_TEXT)
    expect(context).toMatch(/^(?:𝒳)+\n\[… /u)
    const longest = 'x'.repeat(MAX_HOOK_TEXT)
    expect(outcomeOf('SessionStart', { stdout: longest })).toEqual(answered({ context: longest }))
  })
})

describe('exit code 2', () => {
  it.each<[HookEvent, HookAnswer, HookProblemCode[]]>([
    ['PreToolUse', { verdict: { kind: 'deny', reason: 'no' } }, []],
    ['PermissionRequest', { verdict: { kind: 'deny', reason: 'no' } }, []],
    ['SubagentStop', { verdict: { kind: 'block', reason: 'no' } }, []],
    ['Stop', { verdict: { kind: 'block', reason: 'no' } }, []],
    ['TeammateIdle', { verdict: { kind: 'block', reason: 'no' } }, []],
    ['UserPromptSubmit', { verdict: { kind: 'block', reason: 'no' } }, []],
    ['TaskCreated', { verdict: { kind: 'block', reason: 'no' } }, []],
    ['TaskCompleted', { verdict: { kind: 'block', reason: 'no' } }, []],
    ['PreCompact', { verdict: { kind: 'block', reason: 'no' } }, []],
    ['WorktreeCreate', { verdict: { kind: 'block', reason: 'no' } }, []],
    ['WorktreeRemove', { verdict: { kind: 'block', reason: 'no' } }, []],
    ['PostToolUse', { context: 'no' }, []],
    ['PostToolUseFailure', { context: 'no' }, []],
    ['SubagentStart', { notice: 'no' }, ['hook-output-without-effect']],
    ['SessionStart', { notice: 'no' }, ['hook-output-without-effect']],
    ['SessionEnd', { notice: 'no' }, ['hook-output-without-effect']],
    ['Notification', { notice: 'no' }, ['hook-output-without-effect']],
  ])('has its meaning at %s', (event, answer, codes) => {
    const stdout = JSON.stringify({ decision: 'approve', continue: false })
    expect(outcomeOf(event, { exitCode: 2, stderr: 'no\n', stdout })).toEqual(answered(answer, ...codes))
    expect(printed(event, { decision: 'block', reason: 'no' })).toEqual(answered(answer, ...codes))
  })

  it('blocks without a reason, too', () => {
    expect(outcomeOf('PreToolUse', { exitCode: 2 })).toEqual(answered({ verdict: { kind: 'deny' } }))
    expect(outcomeOf('PostToolUse', { exitCode: 2 })).toEqual(answered({}))
  })
})

describe('any other end', () => {
  it.each<[string, Partial<HookExit>, object]>([
    [
      'a code',
      { exitCode: 1, stderr: 'a\nb' },
      { code: 'hook-failed', message: 'it ended with code 1: a b' },
    ],
    ['a missing command', { exitCode: 127 }, { code: 'hook-failed', message: 'it ended with code 127.' }],
    ['a signal', { exitCode: null }, { code: 'hook-failed', message: 'a signal ended it.' }],
    [
      'a timeout, whatever the code is',
      { exitCode: 2, timedOut: true },
      { code: 'hook-timed-out', message: 'it took longer than its `timeout`; it was ended.' },
    ],
  ])('is a fault: %s', (_, more, fault) => {
    const stdout = JSON.stringify({ decision: 'block' })
    for (const event of HOOK_EVENTS)
      expect(outcomeOf(event, { ...more, stdout })).toEqual({ kind: 'failed', fault })
  })
})

describe('a verdict on a tool call', () => {
  const verdictOf = (output: unknown, event: HookEvent = 'PreToolUse') => {
    const outcome = printed(event, output)
    return outcome.kind === 'answered' ? outcome.answer.verdict : undefined
  }

  it.each(['allow', 'deny', 'ask'] as const)('is read from permissionDecision: %s', (permissionDecision) => {
    const output = specific('PreToolUse', { permissionDecision, permissionDecisionReason: 'because' })
    expect(printed('PreToolUse', output)).toEqual(
      answered({ verdict: { kind: permissionDecision, reason: 'because' } }),
    )
  })

  it('is read from the old words', () => {
    expect(verdictOf({ decision: 'approve', reason: 'r' })).toEqual({ kind: 'allow', reason: 'r' })
    expect(verdictOf({ decision: 'block' })).toEqual({ kind: 'deny' })
  })

  it('is read from the form of PermissionRequest, with its changed input', () => {
    const decision = { behavior: 'allow', updatedInput: { command: 'ls' }, message: 'm' }
    expect(printed('PermissionRequest', specific('PermissionRequest', { decision }))).toEqual(
      answered({ verdict: { kind: 'allow', reason: 'm' }, updatedInput: { command: 'ls' } }),
    )
  })

  it('is the strongest where there are several, with its own reason', () => {
    const both = {
      decision: 'block',
      reason: 'old',
      ...specific('PreToolUse', { permissionDecision: 'allow', permissionDecisionReason: 'new' }),
    }
    expect(verdictOf(both)).toEqual({ kind: 'deny', reason: 'old' })
  })

  it.each<[string, unknown]>([
    ['an unknown word', specific('PreToolUse', { permissionDecision: 'denny' })],
    ['another kind of value', specific('PreToolUse', { permissionDecision: false })],
    ['a verdict for another event', specific('PostToolUse', { permissionDecision: 'deny' })],
    ['a list instead of an object', { hookSpecificOutput: ['deny'] }],
    ['a word instead of an object', specific('PreToolUse', { decision: 'deny' })],
    [
      'allow, for an input that cannot be read',
      specific('PreToolUse', { permissionDecision: 'allow', updatedInput: 'ls' }),
    ],
  ])('is to ask when it cannot be read: %s', (_, output) => {
    const outcome = printed('PreToolUse', output)
    expect(outcome).toMatchObject({ kind: 'answered', answer: { verdict: { kind: 'ask' } } })
    expect(outcome.kind === 'answered' && outcome.problems.length).toBeGreaterThan(0)
  })

  it('is to ask when the whole answer is more than can be taken', () => {
    const deep = `{"hookSpecificOutput":${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}}`
    expect(outcomeOf('PreToolUse', { stdout: deep })).toMatchObject({ answer: { verdict: { kind: 'ask' } } })
    expect(outcomeOf('PostToolUse', { stdout: deep })).toEqual(answered({}, 'hook-output-unreadable'))
  })

  it('is none where nothing is asked', () => {
    expect(printed('PostToolUse', { decision: 'approve' })).toEqual(answered({}))
    expect(printed('Stop', { decision: 'maybe' })).toEqual(answered({}, 'hook-output-unreadable'))
  })
})

describe('the rest of what a hook says', () => {
  it('is read from every field', () => {
    const output: HookOutput = {
      continue: false,
      stopReason: 'budget',
      suppressOutput: true,
      systemMessage: 'careful',
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'allow',
        updatedInput: { command: 'ls' },
        additionalContext: 'only ls',
      },
    }
    expect(readHookOutput(output, 'PreToolUse')).toEqual({
      answer: {
        verdict: { kind: 'allow' },
        stop: { reason: 'budget' },
        updatedInput: { command: 'ls' },
        context: 'only ls',
        notice: 'careful',
        isQuiet: true,
      },
      problems: [],
    })
  })

  it('stops the run when a denial interrupts', () => {
    const decision = { behavior: 'deny', message: 'enough', interrupt: true }
    expect(printed('PermissionRequest', specific('PermissionRequest', { decision }))).toEqual(
      answered({ verdict: { kind: 'deny', reason: 'enough' }, stop: { reason: 'enough' } }),
    )
    const harmless = { behavior: 'allow', interrupt: true }
    expect(printed('PermissionRequest', specific('PermissionRequest', { decision: harmless }))).toEqual(
      answered({ verdict: { kind: 'allow' } }),
    )
  })

  it('joins the reason of a late block and more context', () => {
    const output = {
      decision: 'block',
      reason: 'one',
      ...specific('PostToolUse', { additionalContext: 'two' }),
    }
    expect(printed('PostToolUse', output)).toEqual(answered({ context: 'one\n\ntwo' }))
  })

  it.each<[HookEvent, object, HookAnswer]>([
    ['PostToolUse', specific('PostToolUse', { updatedInput: {} }), {}],
    ['SessionEnd', specific('SessionEnd', { additionalContext: 'x' }), {}],
    ['Stop', { systemMessage: 'x', continue: 'no' }, { notice: 'x' }],
    ['Stop', { async: true, systemMessage: 'x' }, { notice: 'x' }],
    ['Stop', { systemMessage: 7, suppressOutput: true }, { isQuiet: true }],
    [
      'PermissionRequest',
      specific('PermissionRequest', { decision: { behavior: 'deny', updatedPermissions: [] } }),
      { verdict: { kind: 'deny' } },
    ],
  ])('tells what is not honoured at %s and honours the rest', (event, output, answer) => {
    const outcome = printed(event, output)
    expect(outcome).toMatchObject({ answer })
    expect(outcome.kind === 'answered' && [outcome.answer, outcome.problems.length]).toEqual([answer, 1])
  })

  it('takes null for absent', () => {
    const output = {
      decision: null,
      reason: null,
      continue: null,
      hookSpecificOutput: { hookEventName: null, permissionDecision: null, decision: null },
    }
    expect(printed('PreToolUse', output)).toEqual(answered({}))
  })

  it('keeps no key that could become a prototype', () => {
    const outcome = outcomeOf('PreToolUse', {
      stdout:
        '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"__proto__":{"x":1},"a":1}}}',
    })
    expect(outcome).toEqual(answered({ verdict: { kind: 'allow' }, updatedInput: { a: 1 } }))
  })
})
