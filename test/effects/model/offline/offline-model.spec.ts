import { firstValueFrom, take, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { ModelDelta, ModelRequest } from '../../../../src/effects/model/model.ts'
import { createOfflineModel } from '../../../../src/effects/model/offline/offline-model.ts'
import { createVirtualClock } from '../../../../src/effects/virtual-clock.ts'
import { Reply } from '../../../../src/machines/agent/messages.ts'
import { replyTo, request } from './loop.ts'

const ASK = request([{ role: 'user', content: 'where is the lock taken over?' }])
const HELLO = request([{ role: 'user', content: 'hello' }])
const live = (): AbortSignal => new AbortController().signal
const deltas = (asked: ModelRequest): Promise<ModelDelta[]> =>
  firstValueFrom(createOfflineModel().stream(asked, live()).pipe(toArray()))

describe('the offline model', () => {
  it('streams a proof of life, its blocks with their text in pieces, and the message last', async () => {
    const all = await deltas(HELLO)
    const kinds = all.map((delta) => delta.type)
    expect(kinds.slice(0, 2)).toEqual(['heartbeat', 'block_started'])
    expect(kinds.filter((kind) => kind === 'text').length).toBeGreaterThan(2)
    expect(kinds.at(-1)).toBe('message')
    const { content } = await replyTo(HELLO)
    const text = all.map((delta) => (delta.type === 'text' ? delta.text : '')).join('')
    expect(content).toEqual([{ type: 'text', text }])
  })

  it('streams calls with their input', async () => {
    const all = await deltas(ASK)
    const inputs = all.flatMap((delta) => (delta.type === 'input_json' ? [JSON.parse(delta.json)] : []))
    const { content, stop_reason } = await replyTo(ASK)
    expect(content.flatMap((block) => (block.type === 'tool_use' ? [block['input']] : []))).toEqual(inputs)
    expect(inputs).toHaveLength(3)
    expect(stop_reason).toBe('tool_use')
  })

  it('gives the same reply, ids included, for the same request, and other ids for another one', async () => {
    const again = await replyTo(structuredClone(ASK))
    expect(again).toEqual(await replyTo(ASK))
    const ids = (reply: Reply): unknown[] => [reply.id, ...reply.content.map((block) => block['id'])]
    const other = await replyTo(request([{ role: 'user', content: 'where is the gate?' }]))
    expect(ids(other).filter((id) => id !== undefined && ids(again).includes(id))).toEqual([])
  })

  it('makes replies of the Messages API, with whole numbers of tokens that grow with the text', async () => {
    const reply = Reply.parse(await replyTo(ASK))
    const longer = await replyTo({ ...ASK, system: 'x'.repeat(4000) })
    expect(longer.usage.input_tokens - reply.usage.input_tokens).toBeGreaterThan(990)
    expect(reply.usage.output_tokens).toBeGreaterThan(0)
    expect(reply.model).toBe('offline')
  })

  it('calls the tool that a request forces, and allows: it judges nothing', async () => {
    const { content, stop_reason } = await replyTo({
      ...ASK,
      toolChoice: { name: 'verdict' },
      source: 'classifier',
    })
    expect([content, stop_reason]).toEqual([
      [
        expect.objectContaining({
          type: 'tool_use',
          name: 'verdict',
          input: expect.objectContaining({ verdict: 'allow' }),
        }),
      ],
      'tool_use',
    ])
  })

  it('does nothing before it is subscribed to, and stops when nobody listens any more', async () => {
    const stream = createOfflineModel().stream(HELLO, live())
    expect(await firstValueFrom(stream.pipe(take(3), toArray()))).toHaveLength(3)
    expect(await firstValueFrom(stream.pipe(toArray()))).toEqual(await deltas(HELLO))
  })

  it('refuses a pause without a clock', () => {
    expect(() => createOfflineModel({ paceMs: 5 })).toThrow(/cannot pause 5 ms without a clock/)
  })
})

describe('a paced offline model', () => {
  function paced(signal = live()) {
    const clock = createVirtualClock()
    const seen: string[] = []
    const subscription = createOfflineModel({ paceMs: 500, clock })
      .stream(HELLO, signal)
      .subscribe({
        next: (delta) => seen.push(delta.type),
        error: (error) => seen.push(`error ${error.message}`),
        complete: () => seen.push('complete'),
      })
    return { clock, seen, subscription }
  }

  it('says that it lives, and replies after its pause', () => {
    const { clock, seen } = paced()
    clock.advance(499)
    expect(seen).toEqual(['heartbeat'])
    clock.advance(1)
    expect(seen.slice(-2)).toEqual(['message', 'complete'])
  })

  it('ends with the reason of its signal, and leaves no timer behind', () => {
    const controller = new AbortController()
    const { clock, seen } = paced(controller.signal)
    controller.abort(new Error('killed'))
    expect(seen).toEqual(['heartbeat', 'error killed'])
    expect(clock.pending).toBe(0)
  })

  it('leaves no timer behind when it is unsubscribed from', () => {
    const { clock, seen, subscription } = paced()
    subscription.unsubscribe()
    expect(clock.pending).toBe(0)
    expect(seen).toEqual(['heartbeat'])
  })

  it('does not begin after an abort', () => {
    const { clock, seen } = paced(AbortSignal.abort(new Error('too late')))
    expect(seen).toEqual(['error too late'])
    expect(clock.pending).toBe(0)
  })
})
