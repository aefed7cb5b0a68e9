import { describe, expect, it } from 'vitest'
import { promptKind, talk } from '../../../../src/effects/model/offline/talk.ts'

describe('a prompt', () => {
  it.each([
    ['', 'empty'],
    ['?!', 'empty'],
    ['Hi', 'greeting'],
    ['hello there!', 'greeting'],
    ['thanks', 'greeting'],
    ['what can you do?', 'abilities'],
    ['help', 'abilities'],
    ['Who are you', 'abilities'],
    ['Write a test for the lock', 'change'],
    ['please fix the bug in lock.ts', 'change'],
    ['Could you please add a flag?', 'change'],
    ['now run the tests', 'change'],
    ['I want you to refactor the journal', 'change'],
    ['How do I add a tool?', 'question'],
    ['where is the fix for surrogates', 'question'],
    ['who writes the log?', 'question'],
    ['hello world example', 'question'],
    ['`run`', 'question'],
  ])('%j is %s', (prompt, kind) => {
    expect(promptKind(prompt)).toBe(kind)
  })
})

describe('what the planner says of itself', () => {
  it.each(['greeting', 'abilities', 'change', 'empty', 'vague', 'no-tools'] as const)(
    '(%s) that it is no language model, what it can do and how to get one, in a few sentences',
    (kind) => {
      const text = talk(kind)
      expect(text).toMatch(/no language model/)
      expect(text).toMatch(/Ask where something is/)
      expect(text).toMatch(/ANTHROPIC_API_KEY.*ANTHROPIC_BASE_URL.*--model/)
      expect(text.split(/[.!?] /).length).toBeLessThanOrEqual(6)
    },
  )
})
