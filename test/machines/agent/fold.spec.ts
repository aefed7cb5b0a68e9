import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { initialTransition, transition } from 'xstate'
import type { AgentEvent, RunEvent } from '../../../src/machines/agent/events.ts'
import type { RunSnapshot } from '../../../src/machines/agent/fold.ts'
import { beginRun, FoldError, foldAgent, foldRun, UNBORN } from '../../../src/machines/agent/fold.ts'
import { agentMachine } from '../../../src/machines/agent/machine.ts'
import { deepFreeze } from '../../helpers/deep-freeze.ts'
import { given } from '../../helpers/given.ts'
import { live, wantedBy } from '../../helpers/live-run.ts'
import {
  AGENT,
  alone,
  call,
  callEnded,
  callStarted,
  killed,
  prepared,
  RUN,
  replied,
  started,
} from '../../helpers/run-events.ts'
import { walks } from '../../helpers/run-walks.ts'

const input = { agentId: AGENT, run: RUN }
const begin = (): RunSnapshot => beginRun(AGENT, RUN)
const fold = (events: readonly RunEvent[], from: RunSnapshot = begin()): RunSnapshot =>
  events.reduce(foldRun, from)

/** All that a snapshot says, as plain data; two snapshots are the same run when this is equal. */
const dataOf = (run: RunSnapshot) => ({
  value: run.value,
  status: run.status,
  context: run.context,
  effects: wantedBy(run),
})

/** Holds `rule` for random lives of a run. */
const always = (rule: (events: RunEvent[]) => void): void =>
  fc.assert(fc.property(walks(), rule), { numRuns: 30 })

describe('the fold of a run', () => {
  it("equals XState's own pure transition after every event", () => {
    always((events) => {
      let ours = begin()
      let [theirs] = initialTransition(agentMachine, input)
      expect(dataOf(ours)).toEqual(dataOf(theirs))
      for (const event of events) {
        ours = foldRun(ours, event)
        // It would take actions behind an end, where a live actor takes none.
        if (theirs.status === 'active') [theirs] = transition(agentMachine, theirs, event)
        expect(dataOf(ours), event.type).toEqual(dataOf(theirs))
      }
    })
  })

  it('equals the live run after every event (law 2)', () => {
    always((events) => {
      const { actor } = live()
      let folded = begin()
      for (const event of events) {
        folded = foldRun(folded, event)
        // An ended actor would only warn; that ends absorb is a law of its own.
        if (actor.getSnapshot().status === 'active') actor.send(event)
        expect(dataOf(actor.getSnapshot()), event.type).toEqual(dataOf(folded))
      }
      actor.stop()
    })
  })

  it('wants exactly the effects that a live run has started and not stopped', () => {
    always((events) => {
      const { actor, running } = live()
      for (const event of events) if (actor.getSnapshot().status === 'active') actor.send(event)
      const wanted = Object.keys(fold(events).children).map((id) => id.replace('call:', 'runCall '))
      expect(running().toSorted()).toEqual(wanted.toSorted())
      actor.stop()
    })
  })

  it('of a prefix and then of the rest equals that of all', () => {
    fc.assert(
      fc.property(walks(), fc.nat(60), (events, cut) => {
        const prefix = fold(events.slice(0, cut))
        expect(dataOf(fold(events.slice(cut), prefix))).toEqual(dataOf(fold(events)))
      }),
      { numRuns: 30 },
    )
  })

  it('changes neither the snapshot nor the event that it is given', () => {
    always((events) => {
      let run = begin()
      for (const event of events) {
        // Everything but the effects, which are actors and stay the same objects.
        deepFreeze(run.context)
        deepFreeze(run.value)
        Object.freeze(run.children)
        Object.freeze(run)
        run = foldRun(run, deepFreeze(event))
      }
    })
  })

  it('is not disturbed by another run that is folded in between', () => {
    fc.assert(
      fc.property(walks(20), walks(20), (one, other) => {
        let [a, b] = [begin(), begin()]
        for (let i = 0; i < Math.max(one.length, other.length); i++) {
          const [forA, forB] = [one[i], other[i]]
          if (forA !== undefined) a = foldRun(a, forA)
          if (forB !== undefined) b = foldRun(b, forB)
        }
        expect(dataOf(a)).toEqual(dataOf(fold(one)))
        expect(dataOf(b)).toEqual(dataOf(fold(other)))
      }),
      { numRuns: 30 },
    )
  })

  it('goes on after an event that could not be folded', () => {
    // No schema lets such an event pass; it stands for any throw in a guard.
    const poison = { type: 'reply.received' } as unknown as RunEvent
    const run = fold([started(), prepared()])
    const before = dataOf(run)
    expect(() => foldRun(run, poison)).toThrow()
    expect(dataOf(run)).toEqual(before)
    const next = replied({ at: 3, says: 'done' })
    expect(dataOf(foldRun(run, next))).toEqual(dataOf(fold([started(), prepared(), next])))
  })
})

describe('a stored snapshot of a fold', () => {
  /** As a file would give it back. The cast says what was written a moment ago. */
  const stored = (run: RunSnapshot) =>
    JSON.parse(JSON.stringify(agentMachine.getPersistedSnapshot(run))) as ReturnType<
      typeof agentMachine.getPersistedSnapshot
    >

  it('starts exactly the effects of its state again, with the input that they had', () => {
    always((events) => {
      const run = fold(events)
      const { actor, begun } = live(stored(run))
      expect(begun).toEqual(Object.values(wantedBy(run)))
      expect(dataOf(actor.getSnapshot())).toEqual(dataOf(run))
      actor.stop()
    })
  })

  it('goes on like the run that it was taken from', () => {
    fc.assert(
      fc.property(walks(), fc.nat(60), (events, cut) => {
        const { actor } = live(stored(fold(events.slice(0, cut))))
        for (const event of events.slice(cut)) if (actor.getSnapshot().status === 'active') actor.send(event)
        expect(dataOf(actor.getSnapshot())).toEqual(dataOf(fold(events)))
        actor.stop()
      }),
      { numRuns: 30 },
    )
  })

  it('restarts the calls that are running, not those that wait', () => {
    const { run } = given(
      started(),
      prepared(),
      replied({ at: 3, calls: ['Read', 'Read', alone('Bash')] }),
      callStarted(call(3, 1)),
    )
    const { actor, begun } = live(stored(run))
    expect(begun).toEqual([
      { src: 'runCall', input: { ...input, callId: call(3, 0) } },
      { src: 'runCall', input: { ...input, callId: call(3, 1) } },
    ])
    actor.stop()
  })
})

describe('what a run remembers', () => {
  const SECRET = 'a sentence of the conversation'

  /** A run after `turns` turns of a talkative model with talkative tools. */
  function afterTurns(turns: number): RunSnapshot {
    let run = fold([started({ content: SECRET.repeat(50) }), prepared()])
    for (let turn = 1; turn <= turns; turn++) {
      const at = turn * 10
      run = fold(
        [
          replied({
            at,
            says: SECRET.repeat(50),
            calls: ['Read', 'Bash'],
            input: { path: SECRET.repeat(50) },
          }),
          callStarted(call(at, 1)),
          callEnded(call(at, 1), 'ok', SECRET.repeat(50)),
          callEnded(call(at, 2), 'denied', SECRET.repeat(50)),
        ],
        run,
      )
    }
    return run
  }

  const sizeOf = (run: RunSnapshot): number => JSON.stringify(agentMachine.getPersistedSnapshot(run)).length

  it('does not grow with its conversation', () => {
    const [short, long] = [afterTurns(10), afterTurns(1_000)]
    expect(long.context.turns).toBe(1_000)
    // Two more digits in each of: turns, tool uses, report, refused calls, and two sums of tokens.
    expect(sizeOf(long) - sizeOf(short)).toBeLessThanOrEqual(6 * 2)
  })

  it('is no content: no word of the prompt, a reply, a call or a result', () => {
    const middle = fold([replied({ at: 50, says: SECRET, calls: ['Read'], input: SECRET })], afterTurns(2))
    expect(middle.context.calls).toHaveLength(1)
    expect(JSON.stringify(agentMachine.getPersistedSnapshot(middle))).not.toContain(SECRET)
  })

  it('is positions, counts and ids, in every state', () => {
    always((events) => {
      const text = JSON.stringify(agentMachine.getPersistedSnapshot(fold(events)))
      for (const said of ['please do it', 'first I look', 'half an ans', 'here you are', 'the result']) {
        expect(text).not.toContain(said)
      }
      expect(text.length).toBeLessThan(6_000)
    })
  })
})

describe('the fold of an agent', () => {
  const spawned: AgentEvent = {
    type: 'agent.spawned',
    agentId: AGENT,
    depth: 0,
    plan: {
      agentType: 'general-purpose',
      description: 'does things',
      model: { value: 'sonnet', rule: 'default' },
      mode: { value: 'default', rule: 'default' },
    },
  }
  const foldAll = (...events: AgentEvent[]) => events.reduce(foldAgent, UNBORN)

  it('begins with its birth', () => {
    expect(foldAll(spawned)).toEqual({ birth: spawned, run: undefined })
  })

  it('begins a new run with every message after an end, with nothing of the run before', () => {
    const first = [started(), prepared(), killed()]
    const ended = foldAll(spawned, ...first)
    if (ended.run === undefined) throw new Error('no run')
    const end: AgentEvent = {
      type: 'agent.ended',
      run: 1,
      status: 'killed',
      outcome: { kind: 'killed', by: 'the user' },
      turns: 0,
      toolUses: 0,
      usage: { input_tokens: 0, output_tokens: 0 },
      totalUsage: { input_tokens: 0, output_tokens: 0 },
      durationMs: 1,
    }
    const again = foldAll(spawned, ...first, end, started({ run: 2, maxTurns: 7 }))
    expect(again.run?.value).toEqual({ resolving: 'preparing' })
    expect(again.run?.context).toEqual({ ...begin().context, run: 2, maxTurns: 7 })
    expect(wantedBy(again.run ?? ended.run)).toEqual({
      prepare: { src: 'prepare', input: { agentId: AGENT, run: 2 } },
    })
  })

  it.each<[string, AgentEvent[], RegExp]>([
    ['a second birth', [spawned, spawned], /spawned twice/],
    ['an event before its birth', [started()], /run\.started comes before agent\.spawned/],
    ['an event before its first run', [spawned, prepared()], /agent\.prepared comes before run\.started/],
    ['a run inside a run', [spawned, started(), started({ run: 2 })], /run 2 starts before/],
  ])('refuses %s', (_, events, message) => {
    expect(() => foldAll(...events)).toThrow(FoldError)
    expect(() => foldAll(...events)).toThrow(message)
    expect(() => foldAll(...events)).toThrow(
      expect.objectContaining({ name: 'FoldError', code: 'impossible-event' }),
    )
  })
})
