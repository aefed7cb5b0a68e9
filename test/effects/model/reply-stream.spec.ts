import { NEVER, Observable, of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createManualModel } from '../../../src/effects/model/manual.ts'
import type { ModelDelta } from '../../../src/effects/model/model.ts'
import { collect } from '../../../src/effects/model/reply-stream.ts'
import { createScriptedModel } from '../../../src/effects/model/scripted.ts'
import { aRequest, modelErrorOf, never, overloaded } from './requests.ts'

describe('collecting a stream', () => {
  it('resolves with the message and hands on every delta before it', async () => {
    const seen: string[] = []
    const stream = createScriptedModel([{ text: 'abcd', chunks: 2 }]).stream(aRequest(), never)
    const { reply } = await collect(stream, never, (delta) => seen.push(delta.type))
    expect(reply.content).toEqual([{ type: 'text', text: 'abcd' }])
    expect(seen).toEqual(['block_started', 'text', 'text'])
  })

  it('rejects with the ModelError of the stream, and wraps anything else in one', async () => {
    const error = overloaded()
    expect(
      await modelErrorOf(
        collect(
          throwError(() => error),
          never,
        ),
      ),
    ).toBe(error)
    const wrapped = await modelErrorOf(
      collect(
        throwError(() => new RangeError('odd')),
        never,
      ),
    )
    expect([wrapped.code, wrapped.retryable, wrapped.message]).toEqual([
      'internal',
      false,
      'the model failed with RangeError: odd',
    ])
  })

  it('rejects when the stream completes without a message', async () => {
    const error = await modelErrorOf(collect(of<ModelDelta>({ type: 'heartbeat' }), never))
    expect([error.code, error.retryable]).toEqual(['stream-cut', true])
  })

  it('rejects with the reason of the signal at once, also when the model does not notice', async () => {
    const abort = new AbortController()
    const promise = collect(NEVER, abort.signal)
    abort.abort('enough')
    await expect(promise).rejects.toBe('enough')
    await expect(collect(NEVER, abort.signal)).rejects.toBe('enough')
  })

  it('lets go of the stream after an abort', async () => {
    const abort = new AbortController()
    let subscribed = false
    const endless = new Observable<ModelDelta>(() => {
      subscribed = true
      return () => {
        subscribed = false
      }
    })
    const promise = collect(endless, abort.signal)
    expect(subscribed).toBe(true)
    abort.abort('enough')
    await expect(promise).rejects.toBe('enough')
    expect(subscribed).toBe(false)
  })

  it('ends the request when the listener throws, with what it threw', async () => {
    const manual = createManualModel()
    const promise = collect(manual.model.stream(aRequest(), never), never, () => {
      throw new Error('a broken view')
    })
    manual.requests[0]?.delta({ type: 'heartbeat' })
    await expect(promise).rejects.toThrow('a broken view')
    expect(manual.requests[0]?.aborted).toBe(true)
  })
})
