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
  ({
    type: 'agent.ended',
    status: 'failed',
    outcome: { kind: 'failed' },
    usage,
    totalUsage,
  }) as AgentEventOf<'agent.ended'>

const plan = (more: object = {}) => ({
  agentType: 'worker',
  description: 'a part',
  model: { value: 'opus', rule: 'parent' },
  mode: { value: 'plan', rule: 'definition worker' },
  ...more,
})
const spawned = (agentId: string, more: object = {}): AgentEvent =>
  ({ type: 'agent.spawned', agentId, plan: plan(more) }) as unknown as AgentEventOf<'agent.spawned'>

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
    expect(shortForm(spawned(CHILD.agentId), CHILD)).not.toHaveProperty('agentId')
    expect(shortForm(spawned(ROOT.agentId), ROOT)).toHaveProperty('agentId')
    expect(shortForm(spawned('a00000000000000ff'), CHILD)).toHaveProperty('agentId')
  })

  it('has bare values for what comes from the parent, in a birth and in the call that it is meant for', () => {
    const more = { rule: 'parent', more: 1 }
    const short = { ...plan(), model: 'opus' }
    expect(shortForm(spawned(CHILD.agentId), CHILD)).toHaveProperty('plan', short)
    const call = { type: 'call.started', callId: '1.2.0', child: { agentId: 'a', plan: plan() } }
    expect(shortForm(call as unknown as AgentEvent, CHILD)).toHaveProperty('child.plan', short)
    expect(wholeForm(lineOf({ ...call, child: { agentId: 'a', plan: short } }))).toEqual(call)
    const full = { model: { value: 'opus', ...more } }
    expect(shortForm(spawned(CHILD.agentId, full), CHILD)).toHaveProperty('plan', plan(full))
  })

  it('says of a report without a schema how often it is asked for, and no more', () => {
    const prepared = (report: object): AgentEvent =>
      ({ type: 'agent.prepared', report }) as unknown as AgentEventOf<'agent.prepared'>
    const plain = prepared({ hasSchema: false, corrections: 2 })
    expect(shortForm(plain, CHILD)).toHaveProperty('report', 2)
    expect(wholeForm(lineOf({ ...plain, report: 2 }))).toEqual(plain)
    for (const report of [
      { hasSchema: true, corrections: 2 },
      { hasSchema: false, corrections: 2, more: 1 },
    ])
      expect(shortForm(prepared(report), CHILD)).toHaveProperty('report', report)
  })

  it('leaves out the outcome that the status says, and no other', () => {
    const usage = { input_tokens: 1, output_tokens: 1 }
    const completed = (outcome: object): AgentEvent =>
      ({ ...ended(usage), status: 'completed', outcome }) as AgentEventOf<'agent.ended'>
    expect(shortForm(completed({ kind: 'completed' }), CHILD)).not.toHaveProperty('outcome')
    for (const outcome of [{ kind: 'partial' }, { kind: 'completed', more: 1 }])
      expect(shortForm(completed(outcome), CHILD)).toHaveProperty('outcome', outcome)
    expect(wholeForm(lineOf({ type: 'agent.ended', status: 'completed' }))).toHaveProperty('outcome', {
      kind: 'completed',
    })
    expect(wholeForm(lineOf({ type: 'agent.ended', status: 'failed' }))).not.toHaveProperty('outcome')
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
    expect(wholeForm(lineOf(whole, { agentId: CHILD.agentId }))).toEqual(whole)
  })

  it('makes nothing up where neither says it', () => {
    expect(wholeForm(lineOf({ type: 'agent.spawned' }))).toEqual({ type: 'agent.spawned' })
    expect(wholeForm(lineOf({ type: 'agent.spawned', plan: 'none' }))).toHaveProperty('plan', 'none')
    expect(wholeForm(lineOf({ type: 'agent.ended', usage: { input_tokens: 'many' } }))).not.toHaveProperty(
      'totalUsage',
    )
  })

  it('is what stands in the log', () => {
    const usage = { input_tokens: 1, output_tokens: 2 }
    const { text } = encode(CHILD, START_CURSOR, ended(usage), 0, countingUuid())
    expect(JSON.parse(text).event).toEqual({
      type: 'agent.ended',
      status: 'failed',
      outcome: { kind: 'failed' },
      usage,
    })
  })
})
