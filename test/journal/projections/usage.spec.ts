import { describe, expect, it } from 'vitest'
import { addModelUsage, createUsageTotals } from '../../../src/journal/projections/usage.ts'
import type { AgentEvent } from '../../../src/machines/agent/events.ts'
import { callId } from '../../../src/machines/ids.ts'
import { createHistory, text } from './histories.ts'

const tokens = (input: number, output: number, created = 0, read = 0) => ({
  input_tokens: input,
  output_tokens: output,
  ...(created > 0 && { cache_creation_input_tokens: created }),
  ...(read > 0 && { cache_read_input_tokens: read }),
})

describe('usage', () => {
  it('is summed per model, for the last run and for all', () => {
    const history = createHistory()
    history.prompt('one')
    history.reply([text('a')], { model: 'm', usage: tokens(1, 2, 3, 4) })
    history.prompt('two')
    history.reply([text('b')], { model: 'm', usage: { input_tokens: 10, output_tokens: 20 } })
    history.reply([text('c')], { model: '__proto__', usage: tokens(5, 5) })
    history.reply([text('d')], { model: 'm', usage: tokens(1, 1, 1, 1) })
    const usage = createUsageTotals()
    for (const entry of history.entries) usage.push(entry)
    expect(Object.entries(usage.ofRun())).toEqual([
      ['m', tokens(11, 21, 1, 1)],
      ['__proto__', tokens(5, 5)],
    ])
    expect(usage.ofAll()['m']).toEqual(tokens(12, 23, 4, 5))
  })

  it('counts what the classifier cost, and nothing where it was not reached', () => {
    const usage = createUsageTotals()
    const push = (event: AgentEvent) => usage.push({ seq: 0, at: 0, event, lines: [] })
    const judged = { verdict: { kind: 'allow' }, durationMs: 1 } as const
    push({ type: 'call.classified', callId: callId(1, 3, 0), ...judged, model: 'small', usage: tokens(7, 1) })
    push({ type: 'review.ended', ...judged, model: 'small', usage: tokens(2, 1) })
    push({ type: 'review.ended', ...judged })
    expect(usage.ofAll()).toEqual({ small: tokens(9, 2) })
  })

  it('of two agents is added model by model', () => {
    expect(addModelUsage({ a: tokens(1, 1), b: tokens(2, 2) }, { b: tokens(3, 3), c: tokens(4, 4) })).toEqual(
      {
        a: tokens(1, 1),
        b: tokens(5, 5),
        c: tokens(4, 4),
      },
    )
  })
})
