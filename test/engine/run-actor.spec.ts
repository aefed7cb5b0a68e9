import { describe, expect, it } from 'vitest'
import { fromCallback } from 'xstate'
import { RunActor } from '../../src/engine/run-actor.ts'
import type { CallInput, EffectInput } from '../../src/machines/agent/effects.ts'
import type { RunEvent } from '../../src/machines/agent/events.ts'
import { beginRun, foldRun } from '../../src/machines/agent/fold.ts'
import { agentMachine } from '../../src/machines/agent/machine.ts'
import type { AgentId, CallId } from '../../src/machines/ids.ts'

const agentId = 'a0123456789abcdef' as AgentId
const call = '1.3.0' as CallId
const STARTED: RunEvent = { type: 'run.started', run: 1, machine: 1, content: 'hi', origin: { from: 'user' } }
const PREPARED = { type: 'agent.prepared', system: 'x', tools: 'y' } as unknown as RunEvent
const REPLY: RunEvent = {
  type: 'reply.received',
  seq: 3,
  reply: {
    id: 'msg',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  calls: [{ callId: call, toolUseId: 't', name: 'Bash', concurrencySafe: false }],
}
const KILL: RunEvent = { type: 'kill.requested', by: 'test' }

/** The machine with effects that write down when they start and stop. */
function spiedMachine() {
  const story: string[] = []
  const spy = <I extends EffectInput>(name: string) =>
    fromCallback<RunEvent, I>(() => {
      story.push(`+${name}`)
      return () => story.push(`-${name}`)
    })
  const machine = agentMachine.provide({
    actors: {
      prepare: spy('prepare'),
      requestModel: spy('requestModel'),
      runCall: spy<CallInput>('runCall'),
      checkReport: spy('checkReport'),
      drain: spy('drain'),
      stopHooks: spy('stopHooks'),
      review: spy('review'),
    },
  })
  return { machine, story }
}

const fail = (error: unknown) => {
  throw error
}

describe('run actor', () => {
  it('changes, starts and stops nothing when events are staged', () => {
    const { machine, story } = spiedMachine()
    const actor = RunActor.begin(machine, { agentId, run: 1 }, fail)
    actor.start()
    const before = actor.snapshot
    for (const event of [STARTED, PREPARED, REPLY, KILL]) actor.stage(event)
    expect(actor.snapshot).toBe(before)
    expect(story).toEqual([])
    expect(actor.stagedSnapshot.value).toEqual({ settling: 'draining' })
  })

  it('starts and stops effects when the staged events are applied, one by one', () => {
    const { machine, story } = spiedMachine()
    const actor = RunActor.begin(machine, { agentId, run: 1 }, fail)
    actor.start()
    const events = [STARTED, PREPARED, REPLY, KILL]
    for (const event of events) actor.stage(event)
    for (const event of events) actor.apply(event)
    expect(story).toEqual([
      '+prepare',
      '-prepare',
      '+requestModel',
      '-requestModel',
      '+runCall',
      '-runCall',
      '+drain',
    ])
  })

  it('is after each event what the pure fold says', () => {
    const { machine } = spiedMachine()
    const actor = RunActor.begin(machine, { agentId, run: 1 }, fail)
    actor.start()
    let folded = beginRun(agentId, 1)
    for (const event of [STARTED, PREPARED, REPLY, KILL]) {
      actor.stage(event)
      actor.apply(event)
      folded = foldRun(folded, event)
      expect(actor.snapshot.value).toEqual(folded.value)
      expect(actor.snapshot.context).toEqual(folded.context)
      expect(Object.keys(actor.snapshot.children)).toEqual(Object.keys(folded.children))
    }
  })

  it('forgets staged events as if they had never been', () => {
    const { machine, story } = spiedMachine()
    const actor = RunActor.begin(machine, { agentId, run: 1 }, fail)
    actor.start()
    actor.stage(STARTED)
    actor.unstage()
    actor.stage(STARTED)
    actor.apply(STARTED)
    expect(story).toEqual(['+prepare'])
  })

  it('throws at staging what a guard throws, and stays as it was', () => {
    const { machine } = spiedMachine()
    const poisoned = machine.provide({
      guards: {
        asksForCalls: () => {
          throw new Error('poison')
        },
      },
    })
    const actor = RunActor.begin(poisoned, { agentId, run: 1 }, fail)
    actor.start()
    for (const event of [STARTED, PREPARED]) {
      actor.stage(event)
      actor.apply(event)
    }
    const before = actor.snapshot
    expect(() => actor.stage(REPLY)).toThrow('poison')
    expect(actor.snapshot).toBe(before)
    actor.stage(KILL)
    actor.apply(KILL)
    expect(actor.snapshot.value).toEqual({ settling: 'draining' })
  })

  it('starts exactly the effects of a folded state again', () => {
    const { machine, story } = spiedMachine()
    let folded = beginRun(agentId, 1)
    for (const event of [STARTED, PREPARED, REPLY]) folded = foldRun(folded, event)
    const actor = RunActor.restore(machine, folded, fail)
    expect(story).toEqual([])
    actor.start()
    expect(story).toEqual(['+runCall'])
    actor.stage(KILL)
    actor.apply(KILL)
    expect(story).toEqual(['+runCall', '-runCall', '+drain'])
  })

  it('tells inspectors of itself when it is announced or started, once, and of a step when it is applied', () => {
    const { machine } = spiedMachine()
    const told: string[] = []
    const actor = RunActor.begin(machine, { agentId, run: 1 }, fail, (event) => {
      if (event.type === '@xstate.actor') told.push('src' in event.actorRef ? String(event.actorRef.src) : '')
      if (event.type === '@xstate.event') told.push(event.event.type)
    })
    expect(told).toEqual([])
    actor.announce()
    actor.start()
    expect(told).toEqual([expect.anything(), 'xstate.init'])
    actor.stage(STARTED)
    expect(told).toHaveLength(2)
    actor.apply(STARTED)
    expect(told.slice(2)).toEqual(['run.started', 'prepare', 'xstate.init'])
  })

  it('that is not started shows what its log says already, and does it behind the effects that it starts with', () => {
    const { machine, story } = spiedMachine()
    let folded = beginRun(agentId, 1)
    for (const event of [STARTED, PREPARED, REPLY]) folded = foldRun(folded, event)
    const actor = RunActor.restore(machine, folded, fail)
    const owed: RunEvent = { type: 'child.launched', child: { agentId, run: 2 } }
    for (const event of [owed, KILL]) actor.stage(event)
    for (const event of [owed, KILL]) actor.apply(event)
    expect(actor.snapshot.context.owed).toEqual([{ agentId, run: 2 }])
    expect(actor.snapshot.value).toEqual({ settling: 'draining' })
    expect(story).toEqual([])
    const shown = actor.snapshot
    actor.start()
    expect(actor.snapshot).toBe(shown)
    expect(story).toEqual(['+runCall', '-runCall', '+drain'])
  })
})
