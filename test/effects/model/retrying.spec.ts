import fc from 'fast-check'
import { Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createProviderGate, type ProviderGate } from '../../../src/effects/model/gate.ts'
import { createManualModel, type ManualModel } from '../../../src/effects/model/manual.ts'
import type { Model, ModelDelta } from '../../../src/effects/model/model.ts'
import { ModelError } from '../../../src/effects/model/model.ts'
import { collect } from '../../../src/effects/model/reply-stream.ts'
import { type RetryPolicy, withRetries } from '../../../src/effects/model/retrying.ts'
import { createScriptedModel } from '../../../src/effects/model/scripted.ts'
import { createVirtualClock, type VirtualClock } from '../../helpers/virtual-clock.ts'
import { aRequest, never, overloaded, type Watched, watch } from './requests.ts'

const text: ModelDelta = { type: 'text', index: 0, text: 'x' }
const heartbeat: ModelDelta = { type: 'heartbeat' }
const cut = (): ModelError => new ModelError('stream-cut', 'cut', { retryable: true })
const refused = (): ModelError => new ModelError('invalid-request', 'no', { retryable: false, status: 400 })

interface Rig {
  readonly manual: ManualModel
  readonly gate: ProviderGate
  readonly clock: VirtualClock
  readonly model: Model
  readonly open: (signal?: AbortSignal) => Watched
}

function rig(policy: Partial<RetryPolicy> = {}, random: () => number = () => 0.5): Rig {
  const manual = createManualModel()
  const clock = createVirtualClock(0)
  const gate = createProviderGate({ clock, random })
  const model = withRetries(manual.model, { gate, clock, random, options: policy })
  return { manual, gate, clock, model, open: (signal = never) => watch(model.stream(aRequest(), signal)) }
}

const retrying = (
  model: Model,
  clock: VirtualClock,
  options: Partial<RetryPolicy> = {},
  random: () => number = () => 0.5,
): Model => withRetries(model, { gate: createProviderGate({ clock, random }), clock, random, options })

const types = ({ deltas }: Watched): string[] => deltas.map(({ type }) => type)

describe('a model with retries', () => {
  it('passes a good attempt through as it is and leaves no timer', () => {
    const { manual, clock, open } = rig()
    const seen = open()
    manual.requests[0]?.delta(heartbeat)
    manual.requests[0]?.reply('hi')
    expect(types(seen)).toEqual(['heartbeat', 'block_started', 'text', 'message'])
    expect([seen.completed, clock.pending]).toEqual([true, 0])
  })

  it('sends nothing before it is subscribed, nor with a signal that has aborted', () => {
    const { manual, model } = rig()
    const stream = model.stream(aRequest(), never)
    expect(manual.requests).toHaveLength(0)
    watch(stream)
    expect(manual.requests).toHaveLength(1)
    const seen = watch(model.stream(aRequest(), AbortSignal.abort('early')))
    expect([seen.errors, manual.requests.length]).toEqual([['early'], 1])
  })

  it('announces the next attempt as soon as one has broken, and makes it after the pause', () => {
    const { manual, clock, open } = rig({ baseDelayMs: 1_000 })
    const seen = open()
    manual.requests[0]?.delta(text)
    manual.requests[0]?.fail(cut())
    expect(seen.deltas.at(-1)).toEqual({ type: 'restarted', attempt: 2, delayMs: 500, reason: 'cut' })
    clock.advance(499)
    expect(manual.requests).toHaveLength(1)
    clock.advance(1)
    manual.requests[1]?.reply('hi')
    expect(types(seen)).toEqual(['text', 'restarted', 'block_started', 'text', 'message'])
    expect(clock.pending).toBe(0)
  })

  it('passes an error that is not worth a retry through, the very same', () => {
    const { manual, clock, open } = rig()
    const seen = open()
    const error = refused()
    manual.requests[0]?.fail(error)
    expect(seen.errors).toEqual([error])
    expect(seen.errors[0]).toBe(error)
    expect([manual.requests.length, clock.pending]).toEqual([1, 0])
  })

  it('wraps what a model throws that is no ModelError, and does not try again', () => {
    const clock = createVirtualClock(0)
    const broken: Model = {
      provider: 'broken',
      stream: () =>
        new Observable(() => {
          throw new TypeError('a defect')
        }),
    }
    const seen = watch(retrying(broken, clock).stream(aRequest(), never))
    expect(seen.errors).toMatchObject([{ code: 'internal', retryable: false }])
  })

  it('takes a model that throws before it gives a stream for one that fails, also in a later attempt', () => {
    const clock = createVirtualClock(0)
    let streams = 0
    const broken: Model = {
      provider: 'broken',
      stream(request, signal) {
        if (++streams > 1) throw new TypeError('a defect')
        return createScriptedModel([cut()]).stream(request, signal)
      },
    }
    const seen = watch(retrying(broken, clock).stream(aRequest(), never))
    clock.runAll()
    expect(seen.errors).toMatchObject([{ code: 'internal', retryable: false }])
  })

  it('takes a stream that completes without a message for a broken one', () => {
    const clock = createVirtualClock(0)
    const empty: Model = {
      provider: 'empty',
      stream: () => new Observable((subscriber) => subscriber.complete()),
    }
    const seen = watch(retrying(empty, clock, { maxRetries: 1 }).stream(aRequest(), never))
    clock.runAll()
    expect(seen.errors).toMatchObject([{ code: 'stream-cut', attempts: 2 }])
  })

  it('gives up after the last retry with a retryable error that says how often and how long it tried', () => {
    const { manual, clock, open } = rig({ maxRetries: 3, baseDelayMs: 1_000 })
    const seen = open()
    const errors = [cut(), cut(), cut(), overloaded(2_000)]
    errors.forEach((error, attempt) => {
      manual.requests[attempt]?.fail(error)
      toNextTimer(clock)
    })
    // Chance 0.5: pauses of 500, 1,000 and 2,000 ms.
    const [error] = seen.errors
    expect(manual.requests).toHaveLength(4)
    expect(error).toMatchObject({
      name: 'ModelError',
      code: 'overloaded',
      retryable: true,
      status: 529,
      retryAfterMs: 2_000,
      attempts: 4,
      message: 'gave up after 4 attempts over 3.5 s: too busy',
      cause: errors[3],
    })
    expect(clock.pending).toBe(0)
  })

  it('pauses by full jitter below a doubling, bounded backoff', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), (chance) => {
        const clock = createVirtualClock(0)
        const failing = createScriptedModel(() => cut())
        const policy = { maxRetries: 9, baseDelayMs: 100, maxDelayMs: 5_000 }
        const seen = watch(retrying(failing, clock, policy, () => chance).stream(aRequest(), never))
        clock.runAll()
        const pauses = seen.deltas.flatMap((delta) => (delta.type === 'restarted' ? [delta.delayMs] : []))
        const full = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]
        expect(pauses).toEqual(full.map((ms) => Math.ceil(ms * chance)))
      }),
      { numRuns: 20 },
    )
  })

  it('never pauses shorter than the server asked for', () => {
    const { manual, clock, open } = rig({}, () => 0.999)
    const seen = open()
    manual.requests[0]?.fail(overloaded(30_000))
    clock.advance(29_999)
    expect(manual.requests).toHaveLength(1)
    clock.advance(1_500)
    expect(manual.requests).toHaveLength(2)
    expect(seen.deltas.at(-1)).toMatchObject({ type: 'restarted' })
  })

  it('ends the broken attempt before the announcement of the next', () => {
    const { manual, clock, model } = rig({ firstByteMs: 1_000 })
    const aborted: (boolean | undefined)[] = []
    model.stream(aRequest(), never).subscribe({
      next: () => aborted.push(manual.requests[0]?.aborted),
    })
    clock.advance(1_000)
    expect(aborted).toEqual([true])
  })

  it('shows nothing of an attempt after its end', () => {
    const { manual, clock, open } = rig({ firstByteMs: 1_000 })
    const seen = open()
    clock.advance(1_000)
    manual.requests[0]?.delta(text)
    manual.requests[0]?.reply('too late')
    expect(types(seen)).toEqual(['restarted'])
  })
})

describe('the clocks of an attempt', () => {
  it('give up when nothing at all comes in time', () => {
    const { clock, open } = rig({ firstByteMs: 1_000, maxRetries: 0 })
    const seen = open()
    clock.advance(999)
    expect(seen.errors).toEqual([])
    clock.advance(1)
    expect(seen.errors).toMatchObject([{ code: 'first-byte-timeout', retryable: true }])
    expect(clock.pending).toBe(0)
  })

  it('count a heartbeat as the first byte', () => {
    const { manual, clock, open } = rig({ firstByteMs: 1_000, gapMs: 10_000, maxRetries: 0 })
    const seen = open()
    clock.advance(999)
    manual.requests[0]?.delta(heartbeat)
    clock.advance(9_999)
    expect(seen.errors).toEqual([])
  })

  it('do not count heartbeats as content: a server that only pings is given up', () => {
    const { manual, clock, open } = rig({ gapMs: 1_000, maxRetries: 0 })
    const seen = open()
    manual.requests[0]?.delta(text)
    for (let i = 0; i < 9; i++) {
      clock.advance(100)
      manual.requests[0]?.delta(heartbeat)
    }
    expect(seen.errors).toEqual([])
    clock.advance(100)
    expect(seen.errors).toMatchObject([{ code: 'gap-timeout', retryable: true }])
  })

  it('begin the gap anew with each delta that carries content', () => {
    const { manual, clock, open } = rig({ gapMs: 1_000, maxRetries: 0 })
    const content: ModelDelta[] = [
      text,
      { type: 'thinking', index: 0, text: 'x' },
      { type: 'input_json', index: 0, json: '{' },
      { type: 'block_started', index: 0, block: { type: 'text', text: '' } },
    ]
    const seen = open()
    for (const delta of content) {
      clock.advance(999)
      manual.requests[0]?.delta(delta)
    }
    clock.advance(999)
    expect(seen.errors).toEqual([])
    clock.advance(1)
    expect(seen.errors).toMatchObject([{ code: 'gap-timeout' }])
  })

  it('use one timer, however many deltas come', () => {
    const { manual, clock, open } = rig()
    open()
    for (let i = 0; i < 1_000; i++) manual.requests[0]?.delta(text)
    expect(clock.pending).toBe(1)
  })
})

describe('ending a request with retries', () => {
  const stages: Record<string, (rig: Rig) => void> = {
    'before the first byte': () => {},
    'in the middle of a reply': ({ manual }) => manual.requests[0]?.delta(text),
    'in the pause': ({ manual }) => manual.requests[0]?.fail(cut()),
    'while it waits at the gate': ({ manual, gate, clock, open }) => {
      const other = open()
      manual.requests[0]?.fail(cut())
      manual.requests[1]?.fail(overloaded(60_000))
      other.unsubscribe()
      clock.advance(1_000)
      expect(gate.waiting).toBe(1)
    },
    'in a later attempt': ({ manual, clock }) => {
      manual.requests[0]?.fail(cut())
      toNextTimer(clock)
      expect(manual.requests).toHaveLength(2)
    },
  }

  for (const [stage, reach] of Object.entries(stages)) {
    it(`${stage}, an abort errors with its reason at once and leaves nothing`, () => {
      const abort = new AbortController()
      const all = rig()
      const seen = all.open(abort.signal)
      reach(all)
      abort.abort('stop')
      expect(seen.errors).toEqual(['stop'])
      expectNothingLeft(all)
    })

    it(`${stage}, unsubscribing leaves nothing`, () => {
      const all = rig()
      const seen = all.open()
      reach(all)
      seen.unsubscribe()
      expect(seen.errors).toEqual([])
      expectNothingLeft(all)
    })
  }

  it('within the announcement of a retry makes no further attempt', () => {
    const { manual, clock, model } = rig()
    const subscription = model.stream(aRequest(), never).subscribe((delta) => {
      if (delta.type === 'restarted') subscription.unsubscribe()
    })
    manual.requests[0]?.fail(cut())
    clock.runAll()
    expect([manual.requests.length, clock.pending]).toEqual([1, 0])
  })
})

describe('many agents behind one gate', () => {
  /** A provider that is overloaded until `recovered`; every request and its instant are noted. */
  function crowd(agents: number, recovered: number, seed: number) {
    const clock = createVirtualClock(0)
    const random = lottery(seed)
    const gate = createProviderGate({ clock, random })
    const sent: number[] = []
    const provider = createScriptedModel(() => {
      sent.push(clock.now())
      return clock.now() < recovered ? overloaded() : 'done'
    })
    const model = withRetries(provider, { gate, clock, random, options: { maxRetries: 30 } })
    const replies = Array.from({ length: agents }, () => {
      const { signal } = new AbortController()
      return collect(model.stream(aRequest(), signal), signal)
    })
    return { clock, gate, sent, replies }
  }

  it('all get their reply, retry at instants of their own, and spare the provider', async () => {
    for (const seed of [1, 2, 3]) {
      const { clock, gate, sent, replies } = crowd(50, 60_000, seed)
      clock.runAll()
      await Promise.all(replies)
      const retries = sent.slice(50)
      expect(new Set(retries).size).toBe(retries.length)
      // 50 first attempts, 50 successes, and a few that probed. Without the gate it would be 50 times 8 or more.
      expect(sent.length).toBeLessThan(150)
      expect([gate.waiting, clock.pending]).toEqual([0, 0])
    }
  })
})

describe('an outage that does not end', () => {
  /** The gate lets one through each time its backoff is over; that one fails. */
  const outage = (maxRetries: number, answeredAt?: number) => {
    const clock = createVirtualClock(0)
    const random = () => 0.5
    let sent = 0
    const provider = createScriptedModel(() => {
      sent += 1
      return sent === answeredAt ? 'an answer' : overloaded()
    })
    const gate = createProviderGate({ clock, random })
    const model = withRetries(provider, { gate, clock, random, options: { maxRetries } })
    const seen = Array.from({ length: 50 }, () =>
      watch(model.stream(aRequest(), new AbortController().signal)),
    )
    clock.runAll()
    return { clock, seen, sent: () => sent }
  }

  it('ends fifty requests about when it would end one: what one is told holds for all who wait', () => {
    const { clock, seen, sent } = outage(3)
    expect(seen.map(({ errors }) => errors.length)).toEqual(Array.from({ length: 50 }, () => 1))
    for (const { errors } of seen) expect(errors[0]).toMatchObject({ code: 'overloaded', retryable: true })
    expect(sent()).toBeLessThanOrEqual(50 + 2 * 3)
    // Four or five backoffs, not two hundred.
    expect(clock.now()).toBeLessThan(30_000)
    const last = seen.map(({ errors }) => (ModelError.is(errors[0]) ? errors[0].message : ''))
    expect(last.some((message) => /1 attempt and 3 of other agents/.test(message))).toBe(true)
    expect(clock.pending).toBe(0)
  })

  it('counts anew when somebody is answered', () => {
    const without = outage(3)
    const answered = outage(3, 3)
    expect(answered.seen.filter(({ completed }) => completed)).toHaveLength(1)
    expect(answered.sent()).toBeGreaterThan(without.sent())
  })
})

function expectNothingLeft({ manual, gate, clock }: Rig): void {
  expect([clock.pending, gate.waiting]).toEqual([0, 0])
  expect(manual.requests.every(({ aborted, ended }) => aborted || ended)).toBe(true)
}

const toNextTimer = (clock: VirtualClock): void => clock.advance(clock.untilNext ?? 0)

/** A small seeded generator of numbers in [0, 1). */
function lottery(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
