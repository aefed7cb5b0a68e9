import { describe, expect, it } from 'vitest'
import { HookLedger } from '../../src/engine/hook-ledger.ts'
import type { AgentEventOf } from '../../src/machines/agent/events.ts'

const started = (hook: string): AgentEventOf<'hook.started'> => ({
  type: 'hook.started',
  hook,
  place: 0,
  label: 'the host',
  moment: 'Stop',
  event: 'Stop',
})

describe('the count of hooks', () => {
  it('is never behind a number that was given: one may be named and not recorded, as a kill came first', () => {
    const ledger = new HookLedger()
    ledger.push(started('hook:1.0'))
    ledger.push(started('hook:4.0'))
    expect(ledger.count).toBe(4)
    expect(HookLedger.from(ledger.value(), ledger.count).count).toBe(4)
  })

  it('grows with each of several at one moment, and with names that say no number', () => {
    const ledger = new HookLedger()
    for (const hook of ['hook:1.0', 'hook:1.1', 'other']) ledger.push(started(hook))
    expect(ledger.count).toBe(3)
  })
})
