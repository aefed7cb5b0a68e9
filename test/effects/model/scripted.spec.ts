import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createManualModel } from '../../../src/effects/model/manual.ts'
import type { ModelRequest } from '../../../src/effects/model/model.ts'
import { collect } from '../../../src/effects/model/reply-stream.ts'
import { createScriptedModel, type Script } from '../../../src/effects/model/scripted.ts'
import { buildReply, call, callMany, say, split } from '../../../src/effects/model/scripted-reply.ts'
import { isToolUse, Reply } from '../../../src/machines/agent/messages.ts'
import { aRequest, modelErrorOf, never, overloaded, watch } from './requests.ts'

const ask = async (script: Script, request: ModelRequest = aRequest()): Promise<Reply> =>
  (await collect(createScriptedModel(script).stream(request, never), never)).reply

describe('a scripted reply', () => {
  it('is a text, parts in the order thinking, text, calls, or a whole message', async () => {
    expect((await ask(['hi'])).content).toEqual([{ type: 'text', text: 'hi' }])
    const { content, stop_reason } = await ask([
      { thinking: 'hm', text: 'look', calls: [{ name: 'Read', input: { path: 'a' }, id: 'mine' }] },
    ])
    expect(content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: expect.any(String) },
      { type: 'text', text: 'look' },
      { type: 'tool_use', id: 'mine', name: 'Read', input: { path: 'a' } },
    ])
    expect(stop_reason).toBe('tool_use')
    const whole = buildReply('as it is', aRequest())
    expect(await ask([whole])).toBe(whole)
  })

  it('is a valid message of the API, whatever its parts', () => {
    fc.assert(
      fc.property(
        fc.record(
          {
            text: fc.string(),
            thinking: fc.string(),
            calls: fc.array(
              fc.record({ name: fc.string(), input: fc.dictionary(fc.string(), fc.jsonValue()) }),
            ),
            stopReason: fc.string(),
            chunks: fc.integer({ min: 1, max: 5 }),
          },
          { requiredKeys: [] },
        ),
        (parts) => {
          expect(Reply.safeParse(buildReply(parts, aRequest())).success).toBe(true)
        },
      ),
      { numRuns: 50 },
    )
  })

  it('stops for its tools when it calls any, else ends the turn, unless told otherwise', () => {
    const reasons = [say('x'), call('Read'), callMany([]), { ...call('Read'), stopReason: 'max_tokens' }].map(
      (parts) => buildReply(parts, aRequest()).stop_reason,
    )
    expect(reasons).toEqual(['end_turn', 'tool_use', 'end_turn', 'max_tokens'])
  })

  it('has ids that come from the request: the same again for it, others for every other one', () => {
    const reply = call('Read')
    const user = (content: ModelRequest['messages'][number]['content']) =>
      ({ role: 'user', content }) as const
    const result = (id: string, content: string) => user([{ type: 'tool_result', tool_use_id: id, content }])
    const conversations: ModelRequest['messages'][] = [
      [user('one')],
      [user('two')],
      [user('one'), user('one')],
      [user([{ type: 'text', text: 'one' }])],
      [user('one'), result('a', 'x')],
      [user('one'), result('b', 'x')],
      [user('one'), result('b', 'y')],
      [user(`${'long '.repeat(100)}a`)],
      [user(`${'long '.repeat(100)}b`)],
    ]
    const requests = [
      ...conversations.map((messages) => aRequest({ messages })),
      aRequest({ source: 'fork' }),
    ]
    const ids = requests.map((request) => buildReply(reply, request).id)
    expect(new Set(ids).size).toBe(requests.length)
    expect(requests.map((request) => buildReply(reply, structuredClone(request)).id)).toEqual(ids)
  })

  it('gives each of its calls an id of its own', () => {
    const { content } = buildReply(
      callMany(Array.from({ length: 12 }, () => ({ name: 'A', input: {} }))),
      aRequest(),
    )
    expect(new Set(content.filter(isToolUse).map(({ id }) => id)).size).toBe(12)
  })

  it('splits its text into deltas that say the same and break no character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 9 }), (text, count) => {
        const parts = split(text, count)
        expect(parts.join('')).toBe(text)
        expect(parts.length).toBeLessThanOrEqual(count)
        for (const part of parts) expect(Buffer.from(part).toString()).toBe(part)
      }),
      { numRuns: 100 },
    )
  })
})

describe('a scripted model', () => {
  it('answers while it is subscribed when its script does', () => {
    const seen = watch(createScriptedModel([{ text: 'abc', chunks: 3 }]).stream(aRequest(), never))
    expect(seen.completed).toBe(true)
    expect(seen.deltas.map(({ type }) => type)).toEqual(['block_started', 'text', 'text', 'text', 'message'])
  })

  it('goes through a list in order, and fails for good when it is used up', async () => {
    const model = createScriptedModel(['one', say('two')])
    const texts: unknown[] = []
    for (let i = 0; i < 2; i++) {
      const { reply } = await collect(model.stream(aRequest(), never), never)
      texts.push(reply.content[0]?.['text'])
    }
    expect(texts).toEqual(['one', 'two'])
    const error = await modelErrorOf(collect(model.stream(aRequest({ source: 'fork' }), never), never))
    expect([error.code, error.retryable]).toEqual(['script', false])
    expect(error.message).toContain('2 replies and all are used; one more was asked for by fork')
  })

  it('lets a request that must call a tool pass a list by: the verdict is allow, or what its host says', async () => {
    const forced = aRequest({ toolChoice: { name: 'verdict' }, source: 'classifier' })
    const model = createScriptedModel(['one'])
    const inputOf = (reply: Reply): unknown => reply.content.find(isToolUse)?.input
    expect(inputOf((await collect(model.stream(forced, never), never)).reply)).toMatchObject({
      verdict: 'allow',
    })
    const { reply } = await collect(model.stream(aRequest(), never), never)
    expect(reply.content).toEqual([{ type: 'text', text: 'one' }])
    const strict = createScriptedModel(['one'], { forced: () => call('verdict', { verdict: 'block' }) })
    expect(inputOf((await collect(strict.stream(forced, never), never)).reply)).toEqual({ verdict: 'block' })
    // A function is asked as for any other request.
    expect((await ask(({ toolChoice }) => say(toolChoice?.name ?? ''), forced)).content).toEqual([
      { type: 'text', text: 'verdict' },
    ])
  })

  it('asks a function with the request and its number', async () => {
    const script: Script = ({ messages }, { index }) => `${index}: ${messages.length}`
    const model = createScriptedModel(script)
    await collect(model.stream(aRequest(), never), never)
    const { reply } = await collect(model.stream(aRequest(), never), never)
    expect(reply.content).toEqual([{ type: 'text', text: '1: 1' }])
  })

  it('fails with the ModelError it is given, and with a script error for any other', async () => {
    const given = overloaded()
    const failures: Script[] = [
      [given],
      () => {
        throw given
      },
      () => Promise.reject(given),
    ]
    for (const script of failures) expect(await modelErrorOf(ask(script))).toBe(given)
    const other = await modelErrorOf(ask([new RangeError('odd')]))
    expect([other.code, other.message, other.retryable]).toEqual(['script', 'odd', false])
  })

  it('ends with the reason of the signal while its script still thinks', () => {
    const abort = new AbortController()
    const seen = watch(createScriptedModel(() => new Promise(() => {})).stream(aRequest(), abort.signal))
    abort.abort('enough')
    expect(seen.errors).toEqual(['enough'])
  })

  it('asks nothing of its script for a signal that has aborted', () => {
    let asked = 0
    const model = createScriptedModel(() => {
      asked += 1
      return 'x'
    })
    const seen = watch(model.stream(aRequest(), AbortSignal.abort('early')))
    expect([seen.errors, asked]).toEqual([['early'], 0])
  })
})

describe('a model driven by hand', () => {
  it('emits what it is told, when it is told', () => {
    const { model, requests } = createManualModel()
    const seen = watch(model.stream(aRequest({ source: 'fork' }), never))
    expect(requests[0]?.request.source).toBe('fork')
    requests[0]?.delta({ type: 'text', index: 0, text: 'a' })
    expect(seen.deltas).toHaveLength(1)
    requests[0]?.reply(call('Read'))
    expect(seen.deltas.at(-1)).toMatchObject({ type: 'message', reply: { stop_reason: 'tool_use' } })
    expect([seen.completed, requests[0]?.ended, requests[0]?.aborted]).toEqual([true, true, false])
  })

  it('tells whether the asker has gone, and ignores answers after that', () => {
    const { model, requests } = createManualModel()
    const abort = new AbortController()
    const seen = [watch(model.stream(aRequest(), abort.signal)), watch(model.stream(aRequest(), never))]
    abort.abort('enough')
    seen[1]?.unsubscribe()
    for (const request of requests) request.reply('too late')
    expect(requests.map(({ aborted, ended }) => [aborted, ended])).toEqual([
      [true, false],
      [true, false],
    ])
    expect(seen.map(({ deltas, errors }) => [deltas, errors])).toEqual([
      [[], ['enough']],
      [[], []],
    ])
  })

  it('can be waited for', async () => {
    const { model, request } = createManualModel()
    const second = request(1)
    watch(model.stream(aRequest(), never))
    watch(model.stream(aRequest({ source: 'summary' }), never))
    expect((await second).request.source).toBe('summary')
    expect((await request(0)).request.source).toBe('main')
  })
})
