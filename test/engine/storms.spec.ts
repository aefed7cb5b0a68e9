/**
 * Fifty agents, and a server on the loopback that has had enough of them. Requests and answers are real HTTP; pauses
 * are on a virtual clock, which moves on only while nobody waits for the server: arrival times are exact.
 */
import { finalize, Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createAnthropicModel } from '../../src/effects/model/anthropic.ts'
import type { Model } from '../../src/effects/model/model.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import type { EngineOptions, Run } from '../../src/engine/api.ts'
import type { Fact } from '../helpers/engine.ts'
import { countingIds, settle, testEngine } from '../helpers/engine.ts'
import type { ReceivedRequest, ServerAnswer } from '../helpers/messages-server.ts'
import { apiError, startMessagesServer, streamed } from '../helpers/messages-server.ts'

const AGENTS = 50

const ends = (facts: readonly Fact[]): string[] =>
  facts.flatMap(({ event }) => (event.type === 'agent.ended' ? [event.status] : []))
const gapsOf = (times: readonly number[]): number[] => times.slice(1).map((at, i) => at - (times[i] ?? at))

/** What a healthy server says: a root starts agents, everybody else calls one tool and reports. */
function healthy({ body }: ReceivedRequest): ServerAnswer {
  const text = JSON.stringify(body.messages)
  const isFirst = body.messages.every(({ role }) => role === 'user')
  if (!text.includes('LEAD'))
    return streamed(isFirst ? callMany([{ name: 'Count', input: {} }]) : say('counted'))
  if (!isFirst) return streamed(say('all are done'))
  const parts = Array.from({ length: AGENTS }, (_, i) => ({
    name: 'Agent',
    input: { description: `part ${i}`, prompt: `part ${i}`, run_in_background: true },
  }))
  return streamed(callMany(parts))
}

type Weather = (request: ReceivedRequest, now: number) => ServerAnswer | undefined

/** An engine whose requests go over the wire to a server in that weather. */
async function storm(options: Omit<Partial<EngineOptions>, 'storage'> = {}) {
  let weather: Weather = () => undefined
  const arrivals: number[] = []
  const server = await startMessagesServer((request) => {
    const now = test.clock.now() - start
    arrivals.push(now)
    return weather(request, now) ?? healthy(request)
  })
  const wire = createAnthropicModel({ env: server.env })
  let inFlight = 0
  const model: Model = {
    provider: wire.provider,
    stream: (request, signal) =>
      new Observable((subscriber) => {
        inFlight += 1
        return wire
          .stream(request, signal)
          .pipe(finalize(() => (inFlight -= 1)))
          .subscribe(subscriber)
      }),
  }
  let counted = 0
  const count: Tool<object> = {
    name: 'Count',
    description: 'counts',
    inputSchema: z.strictObject({}),
    resume: 'repeat',
    isReadOnly: () => true,
    isConcurrencySafe: () => true,
    run: () => Promise.resolve({ content: `counted ${++counted}` }),
  }
  // Chance is even, and the same in every run of the test.
  let seed = 1
  const random = (): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  const test = testEngine(model, { tools: [count], ids: { ...countingIds(), random }, ...options })
  const start = test.clock.now()
  /** Lets time pass until the runs are over. */
  const over = async (...runs: readonly Run[]) => {
    let isOver = false
    const results = Promise.all(runs.map(({ result }) => result)).finally(() => {
      isOver = true
    })
    results.catch(() => {})
    while (!isOver) {
      await settle(1)
      if (inFlight > 0) continue
      await settle(2)
      const { untilNext } = test.clock
      if (inFlight === 0 && !isOver && untilNext !== undefined) test.clock.advance(untilNext)
    }
    return results
  }
  return {
    ...test,
    arrivals,
    over,
    tools: () => counted,
    weatherIs: (next: Weather) => {
      weather = next
    },
    close: async () => {
      await test.engine.close()
      await server.close()
    },
  }
}

/** How many arrive within the same ten milliseconds, at most. */
function densest(arrivals: readonly number[]): number {
  return Math.max(
    0,
    ...arrivals.map((at) => arrivals.filter((other) => other >= at && other < at + 10).length),
  )
}

/** Requests that fifty agents need where none fails; the root is told of their ends in one or more. */
const NEEDED = 2 * AGENTS + 2

describe('fifty agents and a server that has had enough', () => {
  it.each([
    ['529', {}],
    ['429', { headers: { 'retry-after': '2' } }],
  ])('come through an outage, one by one behind it (%s)', async (status, more) => {
    const OUTAGE_MS = 8_000
    const test = await storm()
    test.weatherIs(({ index }, now) =>
      index > 0 && now < OUTAGE_MS ? apiError(Number(status), more) : undefined,
    )
    const [result] = await test.over(test.engine.run('LEAD'))
    expect(result).toMatchObject({ status: 'completed', text: 'all are done' })
    expect(ends(test.facts)).toEqual(Array.from({ length: AGENTS + 1 }, () => 'completed'))
    expect(test.tools()).toBe(AGENTS)
    // All fail at once in the beginning; from then on one at a time asks whether it is over.
    const later = test.arrivals.filter((at) => at > 0)
    expect(later.filter((at) => at < OUTAGE_MS).length).toBeLessThan(8)
    expect(test.arrivals.length).toBeLessThan(NEEDED + AGENTS + 10 + 10)
    // Nor does it begin again when it is over: no two at the same instant, and not in step.
    expect(densest(later)).toBeLessThanOrEqual(3)
    expect(new Set(gapsOf(later)).size).toBeGreaterThan(10)
    await test.close()
  })

  it('get what a rate limit gives, without asking much more often than that', async () => {
    const PER_SECOND = 10
    const test = await storm({ retries: { maxRetries: 20 } })
    const served: number[] = []
    test.weatherIs((_, now) => {
      if (served.filter((at) => at > now - 1_000).length >= PER_SECOND) return apiError(429)
      served.push(now)
      return undefined
    })
    const [result] = await test.over(test.engine.run('LEAD'))
    expect(result).toMatchObject({ status: 'completed', text: 'all are done' })
    expect(ends(test.facts)).toEqual(Array.from({ length: AGENTS + 1 }, () => 'completed'))
    const later = test.arrivals.filter((at) => at > 0)
    expect(test.arrivals.length).toBeLessThan(2 * NEEDED)
    expect(densest(later)).toBeLessThanOrEqual(PER_SECOND)
    await test.close()
  })

  it('end retryable in an outage that does not end, and go on later with all that they had', async () => {
    const RETRIES = 3
    const test = await storm({ retries: { maxRetries: RETRIES } })
    let isOut = true
    // The second request of each: its tool has run.
    test.weatherIs(({ body }) => (isOut && body.messages.length > 1 ? apiError(529) : undefined))
    const runs = Array.from({ length: AGENTS }, (_, i) => test.engine.run(`part ${i}`))
    const failed = await test.over(...runs)
    for (const { status: ended, outcome } of failed) {
      expect(ended).toBe('failed')
      expect(outcome).toMatchObject({ kind: 'failed', fault: { retryable: true } })
    }
    // All fail at once in the beginning; what one is told after that holds for all who wait.
    const asked = test.arrivals.length
    expect(asked).toBeLessThanOrEqual(AGENTS * 2 + 2 * RETRIES)
    // As soon as one agent alone would.
    expect(test.arrivals.at(-1)).toBeLessThan(20_000)
    const later = test.arrivals.filter((at) => at > 0)
    expect(densest(later)).toBeLessThanOrEqual(2)
    expect(test.tools()).toBe(AGENTS)

    isOut = false
    const again = failed.map(({ sessionId }) => test.engine.run('go on', { sessionId }))
    for (const { text } of await test.over(...again)) expect(text).toBe('counted')
    // What had been done was in the transcripts: nobody did it again.
    expect(test.tools()).toBe(AGENTS)
    expect(test.arrivals.length).toBe(asked + AGENTS)
    await test.close()
  })
})
