import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOOK_EVENTS, type HookEvent } from '../../../src/definitions/hook-declaration.ts'
import { combine, type HookContribution } from '../../../src/definitions/hooks/combine.ts'
import { decidesPermission } from '../../../src/definitions/hooks/event-traits.ts'
import type { HookAnswer, HookOutcome } from '../../../src/definitions/hooks/hook-outcome.ts'

const said = (answer: HookAnswer): HookOutcome => ({ kind: 'answered', answer, problems: [] })
const from = (...outcomes: HookOutcome[]): HookContribution[] =>
  outcomes.map((outcome, place) => ({ place, label: `hook ${place}`, outcome }))
const decide = (...outcomes: HookOutcome[]) => combine('PreToolUse', from(...outcomes))
const LOST: HookOutcome = { kind: 'lost', why: 'gone' }
const ABORTED: HookOutcome = { kind: 'aborted' }
const FAILED: HookOutcome = {
  kind: 'failed',
  fault: { code: 'hook-failed', message: 'it ended with code 1.' },
}
const allow = said({ verdict: { kind: 'allow', reason: 'fine' } })
const ask = said({ verdict: { kind: 'ask', reason: 'who knows' } })
const deny = said({ verdict: { kind: 'deny', reason: 'never' } })
const NOTHING = { verdict: 'none', reasons: [], contexts: [], notices: [], problems: [], faults: [] }

describe('the decision of several hooks', () => {
  it('is none where nobody says anything', () => {
    expect(decide()).toEqual(NOTHING)
    expect(decide(said({}), said({}))).toEqual(NOTHING)
  })

  it('is the strongest verdict, with the reasons of those who gave it', () => {
    expect(decide(allow, deny, ask, deny)).toMatchObject({
      verdict: 'deny',
      reasons: [
        { hook: 'hook 1', text: 'never' },
        { hook: 'hook 3', text: 'never' },
      ],
    })
    expect(decide(allow, ask)).toMatchObject({
      verdict: 'ask',
      reasons: [{ hook: 'hook 1', text: 'who knows' }],
    })
    expect(decide(said({}), allow).verdict).toBe('allow')
  })

  it('keeps texts in the order of places, each with its hook', () => {
    const contributions = from(
      said({ context: 'one', notice: 'n' }),
      said({}),
      said({ context: 'two' }),
    ).reverse()
    expect(combine('SessionStart', contributions)).toEqual({
      ...NOTHING,
      contexts: [
        { hook: 'hook 0', text: 'one' },
        { hook: 'hook 2', text: 'two' },
      ],
      notices: [{ hook: 'hook 0', text: 'n' }],
    })
  })

  it('takes a lost or an aborted hook for a question on a tool call, and for nothing elsewhere', () => {
    expect(decide(allow, LOST)).toMatchObject({ verdict: 'ask', reasons: [{ hook: 'hook 1', text: 'gone' }] })
    expect(decide(allow, ABORTED).verdict).toBe('ask')
    expect(combine('SubagentStop', from(LOST, ABORTED))).toEqual(NOTHING)
  })

  it('tells a failed hook and lets it change nothing', () => {
    expect(decide(FAILED)).toEqual({
      ...NOTHING,
      faults: [{ hook: 'hook 0', code: 'hook-failed', message: 'it ended with code 1.' }],
    })
    expect(decide(FAILED, allow).verdict).toBe('allow')
  })

  it('stops the run when one of them says so, beside any verdict', () => {
    expect(decide(allow, said({ stop: { reason: 'late' } }), said({ stop: {} }))).toMatchObject({
      verdict: 'allow',
      stop: { reasons: [{ hook: 'hook 1', text: 'late' }] },
    })
  })

  it('changes the input if those who change it agree, in whatever order their keys are', () => {
    const one = said({ updatedInput: { command: 'ls', list: [1, { a: 1, b: 2 }] } })
    const same = said({ updatedInput: { list: [1, { b: 2, a: 1 }], command: 'ls' } })
    expect(decide(one, said({}), same)).toEqual({
      ...NOTHING,
      updatedInput: { command: 'ls', list: [1, { a: 1, b: 2 }] },
    })
  })

  it('changes nothing and asks when they do not agree', () => {
    const decision = decide(
      said({ updatedInput: { command: 'ls' }, verdict: { kind: 'allow' } }),
      said({ updatedInput: { command: 'ls -l' }, verdict: { kind: 'allow' } }),
    )
    expect(decision.verdict).toBe('ask')
    expect(decision.updatedInput).toBeUndefined()
    expect(decision.problems).toMatchObject([{ code: 'hooks-disagree', hook: 'hook 0, hook 1' }])
    for (const [a, b] of [
      [{ x: [1] }, { x: { 0: 1 } }],
      [{ x: 1 }, { x: 1, y: 1 }],
      [{ x: null }, {}],
    ] as const)
      expect(decide(said({ updatedInput: a }), said({ updatedInput: b })).verdict).toBe('ask')
  })

  it('does not take an allow for an input that its hook never saw', () => {
    const changes = said({ updatedInput: { command: 'rm -rf /' } })
    expect(decide(allow, changes)).toMatchObject({ verdict: 'none', updatedInput: { command: 'rm -rf /' } })
    const changesAndAllows = said({ updatedInput: { command: 'ls' }, verdict: { kind: 'allow' } })
    expect(decide(said({}), changesAndAllows)).toMatchObject({
      verdict: 'allow',
      updatedInput: { command: 'ls' },
    })
  })

  it('has no changed input for a call that is denied', () => {
    expect(decide(said({ updatedInput: { a: 1 } }), deny).updatedInput).toBeUndefined()
  })

  it('has the path of a new folder only if there is one', () => {
    const at = (worktreePath: string) => said({ worktreePath })
    expect(combine('WorktreeCreate', from(at('/a'), said({}), at('/a')))).toEqual({
      ...NOTHING,
      worktreePath: '/a',
    })
    const decision = combine('WorktreeCreate', from(at('/a'), at('/b')))
    expect(decision.worktreePath).toBeUndefined()
    expect(decision.problems).toMatchObject([{ code: 'hooks-disagree' }])
  })
})

const text = fc.option(fc.string({ minLength: 1, maxLength: 5 }), { nil: undefined })
const present = <T extends object>(value: T): T =>
  // Keys without a value are left out, as readers of output do it; the type stays.
  Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as T

const answers = (kinds: readonly ('allow' | 'ask' | 'deny' | 'block')[]): fc.Arbitrary<HookAnswer> =>
  fc
    .record({
      verdict: fc.option(fc.record({ kind: fc.constantFrom(...kinds), reason: text }).map(present), {
        nil: undefined,
      }),
      stop: fc.option(fc.record({ reason: text }).map(present), { nil: undefined }),
      updatedInput: fc.option(fc.constantFrom({ a: 1 }, { a: 2 }), { nil: undefined, freq: 3 }),
      context: text,
      notice: text,
    })
    .map((answer) => present(answer) as HookAnswer)

const outcomesAt = (event: HookEvent): fc.Arbitrary<HookOutcome> =>
  fc.oneof(
    {
      weight: 5,
      arbitrary: answers(decidesPermission(event) ? ['allow', 'ask', 'deny'] : ['block']).map(said),
    },
    fc.constantFrom(LOST, ABORTED, FAILED),
  )

const contributionsAt = (event: HookEvent): fc.Arbitrary<readonly HookContribution[]> =>
  fc.array(outcomesAt(event), { maxLength: 6 }).map((outcomes) => from(...outcomes))

describe('whatever hooks say', () => {
  it('their decision does not depend on the order in which they ended', () => {
    const cases = fc
      .constantFrom(...HOOK_EVENTS)
      .chain((event) =>
        contributionsAt(event).chain((all) =>
          fc.tuple(
            fc.constant(event),
            fc.constant(all),
            fc.shuffledSubarray([...all], { minLength: all.length }),
          ),
        ),
      )
    fc.assert(
      fc.property(cases, ([event, all, shuffled]) => {
        expect(combine(event, shuffled)).toEqual(combine(event, all))
      }),
      { numRuns: 200 },
    )
  })

  it('a denial or a block stays one, and an open question never becomes an allow', () => {
    const cases = fc
      .constantFrom<HookEvent>('PreToolUse', 'PermissionRequest', 'SubagentStop')
      .chain((event) => fc.tuple(fc.constant(event), contributionsAt(event), outcomesAt(event)))
    const weight = { none: 0, allow: 0, ask: 1, deny: 2, block: 2 }
    fc.assert(
      fc.property(cases, ([event, some, more]) => {
        const before = combine(event, some)
        const after = combine(event, [...some, { place: 99, label: 'another', outcome: more }])
        expect(weight[after.verdict]).toBeGreaterThanOrEqual(weight[before.verdict])
        if (after.verdict === 'deny') expect(after.updatedInput).toBeUndefined()
      }),
      { numRuns: 300 },
    )
  })

  it('a call is allowed only by a hook that allows it', () => {
    fc.assert(
      fc.property(contributionsAt('PreToolUse'), (all) => {
        if (combine('PreToolUse', all).verdict !== 'allow') return
        expect(
          all.some(({ outcome }) => outcome.kind === 'answered' && outcome.answer.verdict?.kind === 'allow'),
        ).toBe(true)
      }),
      { numRuns: 200 },
    )
  })
})
