/** Requests to the classifier of mode `auto` are admitted by the budget as any other, and counted once. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { totalTokensOf } from '../../src/definitions/report.ts'
import { createManualModel } from '../../src/effects/model/manual.ts'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import type { ScriptedParts, ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { call, callMany, say } from '../../src/effects/model/scripted-reply.ts'
import type { Tool } from '../../src/effects/tools/tool.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import type { TestEngine } from '../helpers/engine.ts'
import { settle, testEngine } from '../helpers/engine.ts'

const done: string[] = []
const act: Tool<{ id: string }> = {
  name: 'Act',
  description: 'acts',
  inputSchema: z.strictObject({ id: z.string() }),
  resume: 'interrupt',
  isReadOnly: () => false,
  isConcurrencySafe: () => true,
  run: async ({ id }) => {
    done.push(id)
    return { content: 'done' }
  },
}

const costing = (tokens: number, parts: ScriptedParts): ScriptedReply => ({
  ...parts,
  usage: { input_tokens: tokens - 100, output_tokens: 100 },
})
const allow = call('verdict', { verdict: 'allow', reason: 'fine' })
const acts = (...ids: string[]) => callMany(ids.map((id) => ({ name: 'Act', input: { id } })))

const options = (tokens: number): Omit<Partial<EngineOptions>, 'storage'> => ({
  limits: { tokens },
  tools: [act],
  maxTokens: 4_096,
  permissions: { mode: 'auto' },
})

const eventsOf = ({ facts }: TestEngine, type: string) =>
  facts.flatMap(({ event }) => (event.type === type ? [event] : []))

it('a call whose judgement would go beyond the limit is not judged, and not run where nobody can be asked', async () => {
  done.length = 0
  const asked: ModelRequest[] = []
  const test = testEngine((request) => {
    asked.push(request)
    return request.messages.length === 1 ? costing(19_500, acts('a')) : say('the end')
  }, options(20_000))
  const result = await test.engine.run('go').result
  expect(asked.map(({ source }) => source)).toEqual(['main'])
  expect(done).toEqual([])
  expect(eventsOf(test, 'call.classified')).toMatchObject([
    { verdict: { kind: 'unavailable', cause: 'budget', why: expect.stringContaining('limit of tokens') } },
  ])
  expect(eventsOf(test, 'call.ended')).toMatchObject([{ outcome: 'denied' }])
  expect(totalTokensOf(result.totalUsage)).toBe(19_500)
  await test.engine.close()
})

it('the review of a child is not made beyond the limit, and the parent reads that nobody has reviewed it', async () => {
  const asked: ModelRequest[] = []
  const test = testEngine((request) => {
    asked.push(request)
    if (request.source !== 'main') return costing(16_000, say('tidied up'))
    return request.messages.length === 1
      ? costing(3_500, callMany([{ name: 'Agent', input: { description: 'tidy', prompt: 'tidy' } }]))
      : say('the end')
  }, options(20_000))
  const result = await test.engine.run('go').result
  expect(asked.map(({ source }) => source)).not.toContain('classifier')
  expect(eventsOf(test, 'review.ended')).toMatchObject([
    { verdict: { kind: 'unavailable', cause: 'budget' } },
  ])
  expect(JSON.stringify(eventsOf(test, 'call.ended'))).toContain('was not reviewed')
  expect(totalTokensOf(result.totalUsage)).toBeLessThanOrEqual(20_000)
  await test.engine.close()
})

it('judgements side by side wait for each other near the limit, and each is counted once', async () => {
  done.length = 0
  const model = createManualModel()
  // Room for the most that one judgement may cost, not for two; each comes to far less.
  const test = testEngine(model.model, options(12_300))
  const run = test.engine.run('go')
  ;(await model.request(0)).reply(costing(10_000, acts('a', 'b')))
  const first = await model.request(1)
  await settle()
  expect(model.requests).toHaveLength(2)
  first.reply(costing(150, allow))
  const second = await model.request(2)
  second.reply(costing(150, allow))
  const result = await run.result
  expect(done).toEqual(['a', 'b'])
  expect(result.outcome).toEqual({ kind: 'limit', limit: 'tokens' })
  expect(totalTokensOf(result.totalUsage)).toBe(10_300)
  expect(eventsOf(test, 'budget.refused')).toMatchObject([{ used: 10_300 }])
  await test.engine.close()
})

it('one that is cut off by a kill holds nothing any more', async () => {
  const model = createManualModel()
  // Room for the root's last request, and not for a judgement beside it.
  const test = testEngine(model.model, options(10_000))
  const run = test.engine.run('go')
  ;(await model.request(0)).reply(
    costing(2_000, callMany([{ name: 'Agent', input: { description: 'act', prompt: 'act' } }])),
  )
  ;(await model.request(1)).reply(costing(1_000, acts('a')))
  const judged = await model.request(2)
  expect(judged.request.source).toBe('classifier')
  const child = test.engine.agents.find(({ parentAgentId }) => parentAgentId !== undefined)
  await test.engine.kill(child?.agentId ?? '')
  ;(await model.request(3)).reply(say('it was stopped'))
  expect(await run.result).toMatchObject({ outcome: { kind: 'completed' }, text: 'it was stopped' })
  await test.engine.close()
})

it('a deferred review is admitted as any other: what there is no room for is not asked', async () => {
  const asked: string[] = []
  const agent = (name: string) => ({
    name: 'Agent',
    input: { description: name, prompt: `tidy ${name}`, run_in_background: true },
  })
  const test = testEngine(
    ({ source, messages }) => {
      asked.push(source)
      // The server counts more than it was taken for.
      if (source === 'classifier') return costing(3_900, allow)
      if (source !== 'main') return costing(1_000, say('tidied up'))
      return costing(1_500, messages.length === 1 ? callMany([agent('a'), agent('b')]) : say('I wait'))
    },
    { ...options(8_000), maxTokens: 1_100, review: { deferBackground: true } },
  )
  await test.engine.run('go').result
  expect(asked.filter((source) => source === 'classifier')).toHaveLength(1)
  expect(eventsOf(test, 'review.ended')).toMatchObject([
    { verdict: { kind: 'allow' } },
    { verdict: { kind: 'unavailable', cause: 'budget' } },
  ])
  await test.engine.close()
})
