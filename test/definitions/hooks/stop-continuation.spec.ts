import { describe, expect, it } from 'vitest'
import {
  keptReport,
  NEW_REPORT_MARK,
  stopContinuation,
} from '../../../src/definitions/hooks/stop-continuation.ts'

describe('a stop hook that blocks', () => {
  it('sends the agent back to work, five times in a row and not a sixth', () => {
    let blocks = 0
    const counts: number[] = []
    for (;;) {
      const next = stopContinuation({ event: 'SubagentStop', blocks })
      if (next.kind === 'end') {
        expect(next.notice).toContain('more than 5 times')
        break
      }
      blocks = next.blocks
      counts.push(blocks)
    }
    expect(counts).toEqual([1, 2, 3, 4, 5])
  })

  it('sends nobody back where the cap is 0', () => {
    expect(stopContinuation({ event: 'Stop', blocks: 0, cap: 0 })).toMatchObject({ kind: 'end' })
  })

  it('is told to a child with how its report can be replaced, and to the root without', () => {
    const told = (event: 'Stop' | 'SubagentStop') => {
      const next = stopContinuation({ event, blocks: 1, cap: 3 })
      return next.kind === 'continue' ? next.instruction : ''
    }
    expect(told('SubagentStop')).toContain(NEW_REPORT_MARK)
    expect(told('SubagentStop')).toContain('2 of at most 3')
    expect(told('Stop')).not.toContain(NEW_REPORT_MARK)
  })
})

describe('the report of a child that went on', () => {
  it.each<[string, string, string, boolean]>([
    ['Found 3 bugs.', 'The linter passes now.', 'Found 3 bugs.', false],
    ['Found 3 bugs.', '', 'Found 3 bugs.', false],
    ['Found 3 bugs.', 'New report:\nFound 4 bugs.', 'Found 4 bugs.', true],
    ['Found 3 bugs.', '\n New report: Found 4 bugs.', 'Found 4 bugs.', true],
    ['Found 3 bugs.', 'New report:\n ', 'Found 3 bugs.', false],
    ['Found 3 bugs.', 'See the New report: below', 'Found 3 bugs.', false],
    [' ', 'Found 4 bugs.', 'Found 4 bugs.', true],
    ['', 'New report:', '', false],
  ])('of %j then %j is %j', (first, last, text, isReplaced) => {
    expect(keptReport(first, last)).toEqual({ text, isReplaced })
  })
})
