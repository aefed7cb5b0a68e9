import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AgentDefinition } from '../../src/definitions/agent-definition.ts'
import { BUILT_IN_DEFINITIONS } from '../../src/definitions/built-in/index.ts'
import { totalTokensOf } from '../../src/definitions/report.ts'
import { createManualModel } from '../../src/effects/model/manual.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import { settle, story, testEngine } from '../helpers/engine.ts'
import { lookingTool } from '../helpers/tools.ts'

const explore = (prompt: string) => ({
  name: 'Agent',
  input: { description: 'look around', prompt, subagent_type: 'Explore' },
})

const noop = lookingTool('Look', z.strictObject({}), async () => ({ content: 'nothing' }))

const COST = { input_tokens: 20_000, output_tokens: 1_000 }
/** Looks for ever, and says what it has each time. */
const restless = () => ({ ...call('Look', {}, 'so far'), usage: COST })
const options = (
  limits: NonNullable<EngineOptions['limits']>,
  more: Omit<Partial<EngineOptions>, 'storage'> = {},
) => ({
  limits,
  tools: [noop],
  maxTokens: 10_000,
  ...more,
})

describe('a limit of tokens', () => {
  it('ends the run with what there is, before the request that might go beyond it', async () => {
    const { engine, facts } = testEngine(restless, options({ tokens: 100_000 }))
    const result = await engine.run('go').result
    expect(result).toMatchObject({
      status: 'completed',
      outcome: { kind: 'limit', limit: 'tokens' },
      text: 'so far',
      turns: 4,
    })
    expect(totalTokensOf(result.totalUsage)).toBe(84_000)
    const refused = facts.find(({ event }) => event.type === 'budget.refused')?.event
    expect(refused).toMatchObject({ limit: 'tokens', of: 100_000, used: 84_000 })
    await engine.close()
  })

  it('asks for shorter replies when it comes near', async () => {
    const asked: number[] = []
    const { engine } = testEngine(
      (request: ModelRequest) => {
        asked.push(request.maxTokens)
        return restless()
      },
      options({ tokens: 92_000 }),
    )
    await engine.run('go').result
    expect(asked.slice(0, 3)).toEqual([10_000, 10_000, 10_000])
    expect(asked[3]).toBeLessThan(10_000)
    await engine.close()
  })

  it('warns once, at four fifths', async () => {
    const { engine, facts } = testEngine(restless, options({ tokens: 100_000 }))
    await engine.run('go').result
    const warnings = facts.filter(({ event }) => event.type === 'budget.warned')
    expect(warnings.map(({ event }) => event)).toMatchObject([{ limit: 'tokens', used: 84_000 }])
    await engine.close()
  })

  it('is one for the whole tree, and a child that reaches it reports what it has', async () => {
    const { engine, facts } = testEngine(
      (request: ModelRequest) => {
        if (request.source !== 'main') return restless()
        return request.messages.length === 1 ? callMany([explore('a'), explore('b')]) : say('both are in')
      },
      options({ tokens: 150_000 }),
    )
    const run = engine.run('go')
    const result = await run.result
    expect(totalTokensOf(result.totalUsage)).toBeLessThanOrEqual(150_000)
    expect(result).toMatchObject({ outcome: { kind: 'completed' }, text: 'both are in' })
    const children = facts.filter(
      ({ event, agentId }) => event.type === 'agent.ended' && agentId !== result.agentId,
    )
    expect(children).toHaveLength(2)
    for (const { event } of children)
      expect(event).toMatchObject({ outcome: { kind: 'limit', limit: 'tokens' } })
    const refused = facts.filter(({ event }) => event.type === 'budget.refused')
    expect(refused.map(({ event }) => 'owner' in event && event.owner)).toContain(result.agentId)
    const results = facts.flatMap(({ event }) =>
      event.type === 'call.ended' && event.delivered ? [event] : [],
    )
    expect(JSON.stringify(results[0]?.result.content)).toContain('reached its limit of tokens')
    await engine.close()
  })

  it('lets a request wait for others in flight instead of refusing it', async () => {
    const model = createManualModel()
    const { engine, facts } = testEngine(model.model, options({ tokens: 22_000 }, { maxTokens: 16_000 }))
    const run = engine.run('go')
    const root = await model.request(0)
    root.reply(callMany([explore('a'), explore('b')]))
    const first = await model.request(1)
    await settle()
    expect(model.requests).toHaveLength(2)
    first.reply({ ...say('a'), usage: { input_tokens: 100, output_tokens: 10 } })
    const second = await model.request(2)
    second.reply(say('b'))
    ;(await model.request(3)).reply(say('both'))
    expect(await run.result).toMatchObject({ outcome: { kind: 'completed' }, text: 'both' })
    expect(story(facts)).not.toContain('budget.refused')
    await engine.close()
  })

  it('of a definition holds for its agent and what that starts', async () => {
    const small: AgentDefinition = {
      ...(BUILT_IN_DEFINITIONS.find(({ agentType }) => agentType === 'Explore') as AgentDefinition),
      tokens: 50_000,
    }
    const { engine, facts } = testEngine(
      (request: ModelRequest) => {
        if (request.source !== 'main') return restless()
        return request.messages.length === 1 ? callMany([explore('a')]) : say('it is in')
      },
      options({}, { definitions: [small] }),
    )
    const result = await engine.run('go').result
    expect(result).toMatchObject({ outcome: { kind: 'completed' }, text: 'it is in' })
    const ended = facts.find(
      ({ event, agentId }) => event.type === 'agent.ended' && agentId !== result.agentId,
    )
    expect(ended?.event).toMatchObject({ outcome: { kind: 'limit', limit: 'tokens' }, turns: 2 })
    await engine.close()
  })

  it('writes nothing where nothing is limited', async () => {
    const { engine, facts } = testEngine(
      (request: ModelRequest) => (request.messages.length > 6 ? say('done') : restless()),
      options({}),
    )
    await engine.run('go').result
    expect(story(facts).filter((type) => type.startsWith('budget'))).toEqual([])
    await engine.close()
  })

  it('begins anew with each run of the root', async () => {
    const { engine } = testEngine(restless, options({ tokens: 60_000 }))
    const first = await engine.run('go').result
    const second = await engine.run('again', { sessionId: first.sessionId }).result
    expect([first.turns, second.turns]).toEqual([2, 2])
    await engine.close()
  })

  it('refuses a limit that nothing can keep', () => {
    expect(() => testEngine([], { limits: { usd: 0 } })).toThrow(/limits\.usd/)
  })
})

describe('a limit of money', () => {
  it('ends the run by the prices that the host gives', async () => {
    const modelFacts = { sonnet: { input: 10, cacheWrite: 10, cacheRead: 1, output: 50 } }
    const { engine } = testEngine(
      restless,
      options({ usd: 1.5 }, { modelFacts, modelAliases: { sonnet: 'sonnet' } }),
    )
    const result = await engine.run('go').result
    // 0.25 a request; before the next one 0.25 for its input and 0.2 for the least reply must be left.
    expect(result).toMatchObject({ outcome: { kind: 'limit', limit: 'money' }, text: 'so far', turns: 5 })
    await engine.close()
  })

  it('says once that it does not count a model whose price nobody knows', async () => {
    const { engine, events } = testEngine(
      (request: ModelRequest) => (request.messages.length > 6 ? say('done') : restless()),
      options({ usd: 0.01 }, { modelId: 'unheard-of' }),
    )
    const result = await engine.run('go').result
    expect(result.outcome).toEqual({ kind: 'completed' })
    const told = events.filter((event) => event.kind === 'diagnostic' && event.code === 'price-unknown')
    expect(told).toHaveLength(1)
    await engine.close()
  })
})

describe('a limit of running time', () => {
  const slow = (ms: number): typeof noop => ({
    ...noop,
    run: (_, { clock }) => new Promise((resolve) => clock.setTimer(ms, () => resolve({ content: 'slow' }))),
  })

  it('gives up a request of which nothing has come, and ends with what there is', async () => {
    const model = createManualModel()
    const { engine, clock, facts } = testEngine(model.model, options({ runningMs: 60_000 }))
    const run = engine.run('go')
    ;(await model.request(0)).reply(call('Look', {}, 'so far'))
    await model.request(1)
    await clock.advanceAsync(60_000)
    expect(await run.result).toMatchObject({
      status: 'completed',
      outcome: { kind: 'limit', limit: 'time' },
      text: 'so far',
      durationMs: 60_000,
    })
    expect(story(facts)).toEqual(expect.arrayContaining(['budget.warned', 'time.expired', 'budget.refused']))
    expect(clock.pending).toBe(0)
    await engine.close()
  })

  it('waits for a call that runs, and makes no request after it', async () => {
    const { engine, clock } = testEngine(restless, options({ runningMs: 60_000 }, { tools: [slow(90_000)] }))
    const run = engine.run('go')
    await settle()
    await clock.advanceAsync(60_000)
    expect(engine.agents[0]?.phase).toBe('acting')
    await clock.advanceAsync(30_000)
    expect(await run.result).toMatchObject({ outcome: { kind: 'limit', limit: 'time' }, turns: 1 })
    await engine.close()
  })

  it('is that of the tree: a child has what its parent has left', async () => {
    const { engine, clock, facts } = testEngine(
      (request: ModelRequest) => {
        if (request.source !== 'main') return restless()
        return request.messages.length < 3 ? call('Look', {}) : callMany([explore('a')])
      },
      options({ runningMs: 60_000 }, { tools: [slow(25_000)] }),
    )
    const run = engine.run('go')
    await settle()
    for (let step = 0; step < 4; step++) await clock.advanceAsync(25_000)
    const result = await run.result
    expect(result).toMatchObject({ outcome: { kind: 'limit', limit: 'time' }, durationMs: 75_000 })
    const child = facts.find(
      ({ event, agentId }) => event.type === 'agent.ended' && agentId !== result.agentId,
    )
    expect(child?.event).toMatchObject({ outcome: { kind: 'limit', limit: 'time' }, durationMs: 50_000 })
    await engine.close()
  })

  it('refuses a call that waits for somebody’s word', async () => {
    const { engine, clock } = testEngine(
      (request: ModelRequest) =>
        request.messages.length > 2 ? say('never asked') : call('Look', {}, 'so far'),
      options(
        { runningMs: 60_000 },
        { permissions: { mode: 'default', wait: true }, tools: [{ ...noop, isReadOnly: () => false }] },
      ),
    )
    const run = engine.run('go')
    await settle()
    expect(engine.approvals).toHaveLength(1)
    await clock.advanceAsync(60_000)
    expect(await run.result).toMatchObject({ outcome: { kind: 'limit', limit: 'time' }, text: 'so far' })
    expect(engine.approvals).toEqual([])
    await engine.close()
  })

  it('does not count the time that the run was switched off', async () => {
    const first = testEngine(createManualModel().model, options({ runningMs: 60_000 }))
    const run = first.engine.run('go')
    run.result.catch(() => {})
    await settle()
    await first.clock.advanceAsync(40_000)
    await first.engine.close()
    const storage = first.storage.crash()
    const model = createManualModel()
    const second = testEngine(model.model, { ...options({ runningMs: 60_000 }), storage, idsFrom: 1_000 })
    const again = await second.engine.resume(run.sessionId)
    await settle()
    await second.clock.advanceAsync(19_000)
    expect(second.engine.agents[0]?.phase).toBe('requesting')
    await second.clock.advanceAsync(1_000)
    expect(await again?.result).toMatchObject({
      outcome: { kind: 'limit', limit: 'time' },
      durationMs: 60_000,
    })
    await second.engine.close()
  })
})

describe('after a crash', () => {
  it('a budget goes on with what the logs say was spent', async () => {
    const model = createManualModel()
    const first = testEngine(model.model, options({ tokens: 60_000 }))
    const run = first.engine.run('go')
    run.result.catch(() => {})
    ;(await model.request(0)).reply({ ...call('Look', {}, 'so far'), usage: COST })
    await model.request(1)
    await first.engine.close()
    const second = testEngine(restless, {
      ...options({ tokens: 60_000 }),
      storage: first.storage.crash(),
      idsFrom: 1_000,
    })
    const again = await second.engine.resume(run.sessionId)
    const result = await again?.result
    expect(result).toMatchObject({ outcome: { kind: 'limit', limit: 'tokens' }, turns: 2 })
    await second.engine.close()
  })
})
