/** Lines about what agents are at: asked beside the turns, counted, and in no conversation. */
import { describe, expect, it } from 'vitest'
import { createManualModel } from '../../src/effects/model/manual.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { ModelError } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import type { MemoryStorage } from '../../src/journal/memory-storage.ts'
import { requestUsageOf } from '../../src/journal/projections/usage.ts'
import { Doors } from '../helpers/doors.ts'
import { type Fact, settle, testEngine } from '../helpers/engine.ts'
import { turnOf } from '../helpers/scripts.ts'

const rest = () => settle(25)
const LINE = { ...say('xyzzy  the\ntests\u001b[2J'), usage: { input_tokens: 70, output_tokens: 7 } }
const SESSION = '77777777-7777-4777-8777-777777777777'

/** A child in the background that passes two doors, and a root that only waits for it. */
function engineOf(
  line: (n: number) => ScriptedReply = () => LINE,
  more: Partial<EngineOptions> & { readonly storage?: MemoryStorage; readonly idsFrom?: number } = {},
) {
  const doors = new Doors()
  const requests: ModelRequest[] = []
  const lines = () => requests.filter(({ source }) => source === 'summary')
  const test = testEngine(
    (request: ModelRequest): ScriptedReply => {
      requests.push(request)
      const turn = turnOf(request)
      if (request.source === 'summary') return line(lines().length)
      if (request.source === 'main')
        return turn === 0
          ? callMany([
              { name: 'Agent', input: { description: 'd', prompt: 'the task', run_in_background: true } },
            ])
          : say('done')
      const door = ['door-a', 'door-b'][turn]
      return door === undefined ? say('the report') : callMany([{ name: 'Pass', input: { door } }])
    },
    { tools: [doors.tool], features: { progressSummaries: true }, ...more },
  )
  return { ...test, doors, requests, lines }
}

const summaries = (facts: readonly Fact[]) =>
  facts.filter(({ event }) => event.type === 'progress.summarised')
const childOf = ({ engine }: ReturnType<typeof engineOf>) => engine.agents.find(({ depth }) => depth === 1)

describe('lines about progress', () => {
  it('are not asked for unless they are switched on', async () => {
    const test = engineOf(undefined, { features: {} })
    const run = test.engine.run('go')
    await rest()
    await test.clock.advance(120_000)
    await rest()
    expect(test.lines()).toEqual([])
    test.doors.open('door-a', 'door-b')
    await run.result
    await test.engine.close()
  })

  it('are asked for on the prefix of the last request, once for what is new, and are in no later request', async () => {
    const test = engineOf()
    const run = test.engine.run('go')
    await rest()
    await test.clock.advance(29_999)
    await rest()
    expect(test.lines()).toEqual([])
    await test.clock.advance(1)
    await rest()
    const own = test.requests.find(({ source }) => source.startsWith('agent:'))
    const [side] = test.lines()
    const { messages, maxTokens: _, source: __, ...rests } = side ?? { messages: [] }
    expect(own).toMatchObject(rests)
    const before = JSON.stringify(own?.messages.at(-1)?.content)
    const after = JSON.stringify(messages.at(-1)?.content)
    expect(messages.slice(0, -1)).toEqual(own?.messages.slice(0, -1))
    const blocks = before.startsWith('[') ? before : `[{"type":"text","text":${before}}]`
    expect(after.startsWith(blocks.slice(0, -1))).toBe(true)
    expect(childOf(test)?.summary).toBe('xyzzy the tests\\u001b[2J')
    // Nothing has happened since.
    await test.clock.advance(90_000)
    await rest()
    expect(test.lines()).toHaveLength(1)
    test.doors.open('door-a')
    await rest()
    await test.clock.advance(30_000)
    await rest()
    expect(test.lines()).toHaveLength(2)
    test.doors.open('door-b')
    await run.result
    const others = test.requests.filter(({ source }) => source !== 'summary')
    expect(JSON.stringify(others)).not.toContain('xyzzy')
    expect(JSON.stringify(others)).not.toContain('Somebody who watches')
    await test.engine.close()
  })

  it('cost what they cost: totals are the sums of what the events say', async () => {
    const test = engineOf()
    const run = test.engine.run('go')
    await rest()
    await test.clock.advance(30_000)
    await rest()
    test.doors.open('door-a', 'door-b')
    const result = await run.result
    expect(summaries(test.facts)).toHaveLength(1)
    const child = summaries(test.facts)[0]?.agentId
    const sumOf = (facts: readonly Fact[]) =>
      facts
        .flatMap(({ event }) => Object.values(requestUsageOf(event)))
        .reduce((sum, usage) => sum + usage.input_tokens, 0)
    expect(result.totalUsage.input_tokens).toBe(sumOf(test.facts))
    const ended = test.facts.find(({ agentId, event }) => agentId === child && event.type === 'agent.ended')
    expect(ended?.event).toMatchObject({
      totalUsage: { input_tokens: sumOf(test.facts.filter(({ agentId }) => agentId === child)) },
    })
    await test.engine.close()
  })

  it('of a model that fails are no fault: the next interval asks again', async () => {
    const test = engineOf((n) => {
      if (n === 1) throw new ModelError('server', 'down', { retryable: false })
      return LINE
    })
    const run = test.engine.run('go')
    await rest()
    await test.clock.advance(30_000)
    await rest()
    expect([test.lines().length, summaries(test.facts).length]).toEqual([1, 0])
    await test.clock.advance(30_000)
    await rest()
    expect([test.lines().length, summaries(test.facts).length]).toEqual([2, 1])
    test.doors.open('door-a', 'door-b')
    expect((await run.result).outcome.kind).toBe('completed')
    expect(test.facts.some(({ event }) => event.type === 'agent.faulted')).toBe(false)
    await test.engine.close()
  })

  it('are asked for within a budget, too, and leave the turns their part of it', async () => {
    const test = engineOf(undefined, { limits: { tokens: 1_000_000 }, maxTokens: 2_000 })
    const run = test.engine.run('go')
    await rest()
    await test.clock.advance(30_000)
    await rest()
    expect(summaries(test.facts)).toHaveLength(1)
    test.doors.open('door-a', 'door-b')
    expect((await run.result).outcome.kind).toBe('completed')
    await test.engine.close()
  })

  it('are not asked for where a budget leaves no room for them; nobody is refused anything by that', async () => {
    const usage = { input_tokens: 50_000, output_tokens: 100 }
    const asked: ModelRequest[] = []
    const doors = new Doors()
    const test = testEngine(
      (request: ModelRequest): ScriptedReply => {
        asked.push(request)
        if (request.source === 'summary') return LINE
        const turn = turnOf(request)
        if (request.source !== 'main')
          return turn === 0
            ? { ...callMany([{ name: 'Pass', input: { door: 'door-a' } }]), usage }
            : say('the report')
        const input = { description: 'd', prompt: 'the task', run_in_background: true }
        return turn === 0
          ? callMany([
              { name: 'Agent', input },
              { name: 'Pass', input: { door: 'door-root' } },
            ])
          : say('done')
      },
      {
        tools: [doors.tool],
        features: { progressSummaries: true },
        limits: { tokens: 52_000 },
        maxTokens: 2_000,
      },
    )
    const run = test.engine.run('go')
    await rest()
    const before = asked.length
    await test.clock.advance(90_000)
    await rest()
    expect(asked).toHaveLength(before)
    expect(summaries(test.facts)).toEqual([])
    expect(test.facts.filter(({ event }) => event.type === 'budget.refused')).toEqual([])
    doors.open('door-a', 'door-root')
    await run.result
    await test.engine.close()
  })

  it('are what others read of it: a line of TaskOutput, and a field of ListAgents', async () => {
    const doors = new Doors()
    const results: unknown[] = []
    const test = testEngine(
      (request: ModelRequest): ScriptedReply => {
        if (request.source === 'summary') return LINE
        const turn = turnOf(request)
        if (request.source !== 'main')
          return turn === 0 ? callMany([{ name: 'Pass', input: { door: 'door-a' } }]) : say('the report')
        const task_id = /agentId: (a[0-9a-f]{16})/.exec(JSON.stringify(request.messages))?.[1]
        const input = { description: 'd', prompt: 'the task', run_in_background: true }
        if (turn === 0)
          return callMany([
            { name: 'Agent', input },
            { name: 'Pass', input: { door: 'door-root' } },
          ])
        if (turn === 1)
          return callMany([
            { name: 'TaskOutput', input: { task_id, block: false } },
            { name: 'ListAgents', input: {} },
          ])
        return say('done')
      },
      { tools: [doors.tool], features: { progressSummaries: true } },
    )
    const run = test.engine.run('go')
    await rest()
    await test.clock.advance(30_000)
    await rest()
    doors.open('door-root')
    await rest()
    for (const { event } of test.facts)
      if (event.type === 'call.ended') results.push([event.result.content, event.toolUseResult])
    const told = JSON.stringify(results)
    // On one line, and without what steers a terminal.
    expect(told).toContain('it says: xyzzy the tests\\\\u001b[2J')
    expect(told).toContain('"summary":"xyzzy the tests')
    doors.open('door-a')
    await run.result
    await test.engine.close()
  })

  it('begin anew with the next request when the session is brought back', async () => {
    const first = engineOf()
    first.engine.run('go', { sessionId: SESSION }).result.catch(() => {})
    await rest()
    await first.clock.advance(30_000)
    await rest()
    await first.engine.close()
    const second = engineOf(undefined, { storage: first.storage.crash(), idsFrom: 500 })
    const run = await second.engine.resume(SESSION)
    await rest()
    expect(childOf(second)?.summary).toBe('xyzzy the tests\\u001b[2J')
    await second.clock.advance(60_000)
    await rest()
    expect(second.lines()).toEqual([])
    second.doors.open('door-a')
    await rest()
    await second.clock.advance(30_000)
    await rest()
    expect(second.lines()).toHaveLength(1)
    second.doors.open('door-b')
    await run?.result
    await second.engine.close()
  })
})

describe('a request for a line that hangs', () => {
  /** The manual model answers nothing by itself. */
  async function hanging() {
    const doors = new Doors()
    const manual = createManualModel()
    const test = testEngine(manual.model, { tools: [doors.tool], features: { progressSummaries: true } })
    const run = test.engine.run('go')
    await rest()
    manual.requests[0]?.reply(
      callMany([{ name: 'Agent', input: { description: 'd', prompt: 'p', run_in_background: true } }]),
    )
    await rest()
    return { ...test, doors, manual, run }
  }

  it('is the only one, and is given up when its agent is killed', async () => {
    const test = await hanging()
    const asked = () => test.manual.requests.filter(({ request }) => request.source === 'summary')
    await test.clock.advance(30_000)
    await rest()
    expect(asked().map(({ aborted }) => aborted)).toEqual([false])
    // The agent goes on beside it.
    const turn = test.manual.requests.find(({ request }) => request.source.startsWith('agent:'))
    turn?.reply(callMany([{ name: 'Pass', input: { door: 'door-a' } }]))
    test.doors.open('door-a')
    await rest()
    await test.clock.advance(50_000)
    await rest()
    expect(asked()).toHaveLength(1)
    const child = test.engine.agents.find(({ depth }) => depth === 1)
    if (child === undefined) throw new Error('there is no child')
    await test.engine.kill(child.agentId)
    await rest()
    expect(asked().map(({ aborted }) => aborted)).toEqual([true])
    const ended = test.facts.find(({ event }) => event.type === 'agent.ended')?.event
    expect(ended).toMatchObject({ status: 'killed' })
    await test.clock.advance(60_000)
    await rest()
    expect(asked()).toHaveLength(1)
    expect(summaries(test.facts)).toEqual([])
    await test.engine.close()
  })
})
