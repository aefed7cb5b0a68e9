import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { OpenCall } from '../../src/machines/agent/calls.ts'
import { callsOf, MAX_CONCURRENT_CALLS, startable } from '../../src/machines/agent/calls.ts'
import { callId } from '../../src/machines/ids.ts'

const waiting = (i: number, concurrencySafe: boolean): OpenCall => ({
  callId: callId(1, i, 0),
  name: concurrencySafe ? 'Read' : 'Bash',
  concurrencySafe,
  phase: 'waiting',
})

/** `s` is a safe call, `u` one that must be alone. */
const calls = (kinds: string): OpenCall[] => [...kinds].map((kind, i) => waiting(i, kind === 's'))

const running = (open: readonly OpenCall[]): OpenCall[] => open.filter(({ phase }) => phase !== 'waiting')

/** All that is startable starts; some bodies are already running when others are only requested. */
function start(open: readonly OpenCall[], phase: 'requested' | 'started'): OpenCall[] {
  const starting = startable(open)
  return open.map((call) => (starting.includes(call) ? { ...call, phase } : call))
}

/** The open calls at a moment when everything startable has started. */
type Moment = readonly OpenCall[]

/** A turn from its reply to its last result; `choices` decide which running call ends next. */
function turn(kinds: string, choices: readonly number[]): Moment[] {
  const moments: Moment[] = []
  let open = calls(kinds)
  for (let i = 0; open.length > 0; i++) {
    const choice = choices[i % choices.length] ?? 0
    open = start(open, choice % 2 === 0 ? 'requested' : 'started')
    moments.push(open)
    const busy = running(open)
    const ended = busy[choice % Math.max(busy.length, 1)]
    // With calls waiting and none running the turn would hang; the properties look at this moment.
    if (ended === undefined) break
    open = open.filter((call) => call !== ended)
  }
  return moments
}

const kinds = fc
  .array(fc.oneof({ weight: 5, arbitrary: fc.constant('s') }, { weight: 1, arbitrary: fc.constant('u') }), {
    minLength: 1,
    maxLength: 40,
    size: 'max',
  })
  .map((each) => each.join(''))
const choices = fc.array(fc.nat(), { minLength: 1, maxLength: 40 })

/** Holds `rule` at every moment of every turn. */
const always = (rule: (moment: Moment) => void): void =>
  fc.assert(
    fc.property(kinds, choices, (kinds, choices) => {
      for (const moment of turn(kinds, choices)) rule(moment)
    }),
    { numRuns: 300 },
  )

describe('the calls of a turn', () => {
  it(`never run more than ${MAX_CONCURRENT_CALLS} at once`, () => {
    always((open) => expect(running(open).length).toBeLessThanOrEqual(MAX_CONCURRENT_CALLS))
  })

  it('never overlap one that must be alone', () => {
    always((open) => {
      const busy = running(open)
      if (busy.some((call) => !call.concurrencySafe)) expect(busy).toHaveLength(1)
    })
  })

  it('start in the order of the reply', () => {
    always((open) => {
      const firstWaiting = open.findIndex(({ phase }) => phase === 'waiting')
      if (firstWaiting >= 0) expect(running(open.slice(firstWaiting))).toEqual([])
    })
  })

  it('never all wait', () => {
    always((open) => expect(running(open)).not.toEqual([]))
  })

  it('wait only for a reason: ten are running, or one of two neighbours must be alone', () => {
    always((open) => {
      const next = open.find(({ phase }) => phase === 'waiting')
      const busy = running(open)
      if (next === undefined || busy.length === MAX_CONCURRENT_CALLS) return
      expect([next, ...busy].some((call) => !call.concurrencySafe)).toBe(true)
    })
  })

  it('are startable once: what has started is not startable again', () => {
    always((open) => expect(startable(open)).toEqual([]))
  })

  it('come to an end, every one of them', () => {
    fc.assert(
      fc.property(kinds, choices, (kinds, choices) => {
        expect(turn(kinds, choices)).toHaveLength(kinds.length)
      }),
      { numRuns: 100 },
    )
  })

  it.each([
    ['sss', 3],
    ['ssus', 2],
    ['us', 1],
    ['s'.repeat(12), 10],
    ['', 0],
  ])('of the reply %s start at first: %i', (kinds, count) => {
    expect(startable(calls(kinds))).toHaveLength(count)
  })
})

describe('the calls that a reply asks for', () => {
  const toolUse = (id: string, name: string) => ({ type: 'tool_use', id, name, input: {} })
  const reply = {
    id: 'msg_1',
    type: 'message' as const,
    role: 'assistant' as const,
    model: 'a-model',
    content: [
      { type: 'text', text: 'let me see' },
      toolUse('toolu_a', 'Read'),
      { type: 'a_block_of_the_future', id: 'x', name: 'y' },
      toolUse('toolu_a', 'Bash'),
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }

  it('are its tool_use blocks, with ids made of their own lines: unique even when those of the model are not', () => {
    expect(callsOf(reply, 2, 40, [false, true, false, false])).toEqual([
      { callId: '2.41.0', toolUseId: 'toolu_a', name: 'Read', concurrencySafe: true },
      { callId: '2.43.0', toolUseId: 'toolu_a', name: 'Bash', concurrencySafe: false },
    ])
  })

  it('run alone when nobody said that they may overlap', () => {
    expect(callsOf(reply, 1, 0, []).map(({ concurrencySafe }) => concurrencySafe)).toEqual([false, false])
  })
})
