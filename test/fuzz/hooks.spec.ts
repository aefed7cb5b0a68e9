/** Whatever hooks print or return, and whatever matchers are: an answer each time, bounded, the same each time. */
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { HOOK_EVENTS, type HookEvent } from '../../src/definitions/hook-declaration.ts'
import { combine } from '../../src/definitions/hooks/combine.ts'
import { decidesPermission, HOOK_EVENT_TRAITS } from '../../src/definitions/hooks/event-traits.ts'
import { type HookOutcome, MAX_HOOK_TEXT } from '../../src/definitions/hooks/hook-outcome.ts'
import { matches, readHookMatcher } from '../../src/definitions/hooks/matcher.ts'
import { readHookOutcome } from '../../src/definitions/hooks/read-outcome.ts'
import { readHookOutput } from '../../src/definitions/hooks/read-output.ts'
import { checkHooks, hooksForAll } from '../../src/definitions/hooks/scoped-hook.ts'
import { fuzz, goodInputs } from './support/fuzz.ts'
import { hostileText, hostileValue, mutatedText } from './support/mutations.ts'

const anyEvent: fc.Arbitrary<HookEvent> = fc.constantFrom(...HOOK_EVENTS)

const sometimes = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined })
const word = fc.constantFrom<unknown>('allow', 'deny', 'ask', 'approve', 'block', 'denny', true, null, [
  'deny',
])
const text = fc.oneof(fc.constantFrom<unknown>('because', 7, null, 'x'.repeat(30_000)), hostileText)

/** Output with the right names, and values that are right, wrong or absent. */
const outputs = fc.record(
  {
    continue: fc.constantFrom<unknown>(true, false, 'no', null),
    stopReason: text,
    suppressOutput: fc.constantFrom<unknown>(true, 1),
    systemMessage: text,
    decision: word,
    reason: text,
    hookSpecificOutput: fc.oneof(
      hostileValue,
      fc.record(
        {
          hookEventName: sometimes(fc.constantFrom<unknown>(...HOOK_EVENTS, 7)),
          permissionDecision: word,
          permissionDecisionReason: text,
          updatedInput: fc.oneof(hostileValue, fc.constantFrom<unknown>({ command: 'ls' }, {})),
          additionalContext: text,
          decision: fc.oneof(hostileValue, fc.record({ behavior: word, message: text, interrupt: word })),
          worktreePath: fc.constantFrom<unknown>('/a', 'a', '/a\nb', {}),
        },
        { requiredKeys: [] },
      ),
    ),
    unknownKey: hostileValue,
  },
  { requiredKeys: [] },
)

function expectSound(outcome: HookOutcome, event: HookEvent): void {
  const written = JSON.stringify(outcome)
  // A log keeps it: it is plain data and comes back as it is (but for the sign of nought, which JSON does not keep).
  expect(JSON.stringify(JSON.parse(written))).toBe(written)
  expect(written).not.toMatch(/(?<!\\)\\ud[89a-f]/)
  if (outcome.kind !== 'answered') return
  const { verdict, stop, context, notice, worktreePath, updatedInput } = outcome.answer
  for (const said of [verdict?.reason, stop?.reason, context, notice])
    if (said !== undefined) {
      expect(said.length).toBeLessThanOrEqual(MAX_HOOK_TEXT)
      expect(said.trim()).not.toBe('')
    }
  const traits = HOOK_EVENT_TRAITS[event]
  if (verdict !== undefined) {
    expect(verdict.kind === 'block').toBe(!decidesPermission(event))
    expect(['nothing', 'advises']).not.toContain(traits.block)
  }
  if (context !== undefined) expect(traits.takesContext).toBe(true)
  if (updatedInput !== undefined) expect(decidesPermission(event)).toBe(true)
  if (worktreePath !== undefined) expect([event, worktreePath[0]]).toEqual(['WorktreeCreate', '/'])
  expect(combine(event, [{ place: 0, label: 'it', outcome }])).toBeDefined()
}

/** What is nested too deeply to be written is no text of a hook. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}

describe('hooks, whatever they do', () => {
  const printed = goodInputs(outputs.map(jsonOf), 60)
  const exits = fc.record({
    exitCode: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.constantFrom(1, 2, 127, -1, null)),
    stdout: fc.oneof({ weight: 3, arbitrary: printed }, mutatedText(printed), hostileText),
    stderr: hostileText,
    timedOut: fc.constantFrom(false, false, false, true),
    isCut: fc.boolean(),
  })

  fuzz('print what can always be read, and is sound', 300, fc.tuple(exits, anyEvent), ([exit, event]) => {
    const outcome = readHookOutcome(exit, event)
    expectSound(outcome, event)
    expect(readHookOutcome(exit, event)).toEqual(outcome)
  })

  fuzz(
    'return what can always be read, and is sound',
    200,
    fc.tuple(fc.oneof(outputs, hostileValue), anyEvent),
    ([value, event]) => {
      const read = readHookOutput(value, event)
      expectSound({ kind: 'answered', ...read }, event)
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      if (!isObject) expect(read.problems).not.toEqual([])
    },
  )

  fuzz('never turn a spoken no into a yes', 200, fc.tuple(outputs, anyEvent), ([output, event]) => {
    if (!decidesPermission(event)) return
    const { answer } = readHookOutput({ ...output, decision: 'block' }, event)
    expect(answer.verdict?.kind === 'deny' || answer.verdict?.kind === 'ask').toBe(true)
  })

  const pieces = fc.constantFrom(
    'Bash',
    '|',
    ',',
    '.*',
    '^',
    '$',
    '(',
    ')',
    '+',
    '*',
    '[a',
    ']',
    '\\w',
    '(?!',
    '{9}',
    '{',
    ' ',
    'é',
    '-',
    'mcp__a',
    '\\1',
  )
  const matchers = fc.oneof(
    hostileText,
    fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
  )
  const names = fc.oneof(hostileText, fc.constantFrom('Bash', 'Agent', 'mcp__a__b', 'a'.repeat(900)))

  fuzz(
    'have matchers that answer or are refused aloud',
    300,
    fc.tuple(matchers, names),
    ([matcher, name]) => {
      const read = readHookMatcher(matcher)
      const isFor = matches({ matcher }, { kind: 'tool', name })
      const diagnostics = checkHooks(
        hooksForAll([{ event: 'PreToolUse', matcher, command: 'x' }], { kind: 'host' }),
      )
      if (read.kind === 'refused') expect(isFor).toBe(false)
      expect(diagnostics.length).toBe(read.kind === 'refused' ? 1 : 0)
    },
  )
})
