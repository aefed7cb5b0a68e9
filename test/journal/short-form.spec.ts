import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encode, START_CURSOR } from '../../src/journal/codec.ts'
import type { LifecycleLine } from '../../src/journal/line.ts'
import { shortForm, wholeForm } from '../../src/journal/short-form.ts'
import { addUsage, NO_USAGE } from '../../src/machines/agent/context.ts'
import type { AgentEvent, AgentEventOf } from '../../src/machines/agent/events.ts'
import { anyAgentEvent } from '../helpers/arbitraries.ts'
import { CHILD, countingUuid, ROOT } from '../helpers/logs.ts'

const lineOf = (event: object, members: object = {}): LifecycleLine => ({
  seq: 0,
  timestamp: '2026-12-01T00:00:00.000Z',
  ...members,
  event: event as LifecycleLine['event'],
})

const ended = (usage: object, totalUsage: object = usage): AgentEventOf<'agent.ended'> =>
  ({ type: 'agent.ended', usage, totalUsage }) as AgentEventOf<'agent.ended'>

describe('the short form of an event', () => {
  it('is the whole again, with its line', () => {
    fc.assert(
      fc.property(anyAgentEvent, fc.boolean(), (event, isOwn) => {
        const identity =
          isOwn && event.type === 'agent.spawned' ? { ...CHILD, agentId: event.agentId } : CHILD
        const line = lineOf(shortForm(event, identity), { agentId: identity.agentId })
        expect(wholeForm(line)).toEqual(event)
      }),
      { numRuns: 500 },
    )
  })

  it('leaves out who is spawned where the line says it: with a sub-agent, not with a root', () => {
    const birth = (agentId: string): AgentEvent =>
      ({ type: 'agent.spawned', agentId }) as AgentEventOf<'agent.spawned'>
    expect(shortForm(birth(CHILD.agentId), CHILD)).not.toHaveProperty('agentId')
    expect(shortForm(birth(ROOT.agentId), ROOT)).toHaveProperty('agentId')
    expect(shortForm(birth('a00000000000000ff'), CHILD)).toHaveProperty('agentId')
  })

  it('leaves out a total that is that of the last request, whatever else the server said of that', () => {
    const usage = { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: 0, service_tier: 'standard' }
    expect(shortForm(ended(usage, addUsage(usage, NO_USAGE)), CHILD)).not.toHaveProperty('totalUsage')
    for (const other of [
      { input_tokens: 8, output_tokens: 3 },
      { ...addUsage(usage, NO_USAGE), more: 1 },
      usage,
    ])
      expect(shortForm(ended(usage, other), CHILD)).toHaveProperty('totalUsage', other)
  })

  it('is not needed: a line that says everything is read as it is', () => {
    const whole = ended({ input_tokens: 1, output_tokens: 1 }, { input_tokens: 5, output_tokens: 5 })
    expect(wholeForm(lineOf(whole, { agentId: CHILD.agentId }))).toBe(whole)
  })

  it('makes nothing up where neither says it', () => {
    expect(wholeForm(lineOf({ type: 'agent.spawned' }))).not.toHaveProperty('agentId')
    expect(wholeForm(lineOf({ type: 'agent.ended', usage: { input_tokens: 'many' } }))).not.toHaveProperty(
      'totalUsage',
    )
  })

  it('is what stands in the log', () => {
    const usage = { input_tokens: 1, output_tokens: 2 }
    const { text } = encode(CHILD, START_CURSOR, ended(usage), 0, countingUuid())
    expect(JSON.parse(text).event).toEqual({ type: 'agent.ended', usage })
  })
})
