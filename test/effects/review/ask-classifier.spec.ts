import { describe, expect, it } from 'vitest'
import { createManualModel } from '../../../src/effects/model/manual.ts'
import type { Model } from '../../../src/effects/model/model.ts'
import { ModelError } from '../../../src/effects/model/model.ts'
import type { Script } from '../../../src/effects/model/scripted.ts'
import { createScriptedModel } from '../../../src/effects/model/scripted.ts'
import { call } from '../../../src/effects/model/scripted-reply.ts'
import { askClassifier } from '../../../src/effects/review/ask-classifier.ts'
import { createVirtualClock } from '../../../src/effects/virtual-clock.ts'

const QUESTION = { system: 'judge', prompt: 'was it good?' }

function asking(model: Model, signal = new AbortController().signal) {
  const clock = createVirtualClock()
  return {
    clock,
    judgement: askClassifier({ model, modelId: 'small', clock, timeoutMs: 1_000 }, QUESTION, signal),
  }
}

const answered = (script: Script) => asking(createScriptedModel(script)).judgement

describe('the classifier', () => {
  it('is asked once, of source "classifier", for nothing but the verdict', async () => {
    const requests: unknown[] = []
    const judgement = await answered((request) => {
      requests.push(request)
      return call('verdict', { verdict: 'flag', reason: 'odd' })
    })
    expect(judgement).toEqual({
      verdict: { kind: 'flag', reason: 'odd' },
      model: 'small',
      usage: expect.objectContaining({ input_tokens: 10 }),
      durationMs: 0,
    })
    expect(requests).toEqual([
      expect.objectContaining({
        model: 'small',
        system: 'judge',
        messages: [{ role: 'user', content: 'was it good?' }],
        toolChoice: { name: 'verdict' },
        tools: [expect.objectContaining({ name: 'verdict' })],
        source: 'classifier',
      }),
    ])
  })

  it('has cost what its reply says, also when that is no verdict', async () => {
    expect(await answered(() => 'well …')).toMatchObject({
      verdict: { kind: 'unavailable', cause: 'malformed' },
      usage: { input_tokens: 10 },
    })
  })

  it('that fails, throws or gives something that is no message is unavailable, with the reason', async () => {
    const models: readonly Model[] = [
      createScriptedModel([], { forced: () => new ModelError('server', 'it is down', { retryable: true }) }),
      createScriptedModel([], { forced: () => ({ role: 'assistant', content: 'x' }) as never }),
      {
        provider: 'x',
        stream: () => {
          throw new TypeError('it is broken')
        },
      },
    ]
    const whys = await Promise.all(models.map(async (model) => (await asking(model).judgement).verdict))
    expect(whys).toMatchObject([
      { cause: 'error', why: 'it is down' },
      { cause: 'error', why: expect.stringContaining('no reply') },
      { cause: 'error', why: 'it is broken' },
    ])
  })

  it('has its own time, and is let go of when it is over', async () => {
    const { model, requests } = createManualModel()
    const { clock, judgement } = asking(model)
    await clock.advanceAsync(999)
    expect(requests.map(({ aborted }) => aborted)).toEqual([false])
    await clock.advanceAsync(1)
    expect(await judgement).toEqual({
      verdict: { kind: 'unavailable', cause: 'timeout', why: 'no verdict within 1000 ms' },
      durationMs: 1_000,
    })
    expect(requests.map(({ aborted }) => aborted)).toEqual([true])
    expect(clock.pending).toBe(0)
  })

  it('rejects with the reason of its signal alone, at once, and leaves no timer', async () => {
    const abort = new AbortController()
    const { clock, judgement } = asking(createManualModel().model, abort.signal)
    const reason = new Error('enough')
    abort.abort(reason)
    await expect(judgement).rejects.toBe(reason)
    expect(clock.pending).toBe(0)
    await expect(asking(createManualModel().model, abort.signal).judgement).rejects.toBe(reason)
  })
})
