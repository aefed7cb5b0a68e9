import { describe, expect, it } from 'vitest'
import { isAmong, isSameRun, runName, withoutRuns } from '../../../src/machines/agent/run-key.ts'
import { AGENT, CHILD } from '../../helpers/run-events.ts'

const first = { agentId: AGENT, run: 1 }
const second = { agentId: AGENT, run: 2 }
const another = { agentId: CHILD, run: 1 }

describe('the key of a run', () => {
  it('is the agent and the number, both', () => {
    expect(isSameRun(first, { ...first })).toBe(true)
    expect(isSameRun(first, second)).toBe(false)
    expect(isSameRun(first, another)).toBe(false)
    expect(new Set([first, second, another].map(runName)).size).toBe(3)
    expect(runName(first)).toBe(`${AGENT}:1`)
  })

  it('is found among others, and taken out of them', () => {
    expect(isAmong([second, first], first)).toBe(true)
    expect(isAmong([second, another], first)).toBe(false)
    expect(withoutRuns([first, second, another], [second])).toEqual([first, another])
    expect(withoutRuns([first], [])).toEqual([first])
  })
})
