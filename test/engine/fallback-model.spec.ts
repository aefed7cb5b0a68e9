import { filter, firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/effects/model/model.ts'
import { ModelError } from '../../src/effects/model/model.ts'
import type { ScriptedReply } from '../../src/effects/model/scripted-reply.ts'
import { say } from '../../src/effects/model/scripted-reply.ts'
import type { Run, RunResult } from '../../src/engine/api.ts'
import type { TestEngine } from '../helpers/engine.ts'
import { story, testEngine } from '../helpers/engine.ts'

const overloaded = () => new ModelError('overloaded', 'too busy', { retryable: true })
const options = { modelId: 'first', fallbackModel: 'second', retries: { maxRetries: 0 } } as const

/** The first model thinks once, then it is overloaded; the other one answers. */
function play(error: () => Error = overloaded) {
  const requests: ModelRequest[] = []
  const script = (request: ModelRequest): ScriptedReply => {
    requests.push(request)
    if (request.model === 'second') return say('the other answer')
    return requests.length === 1
      ? { text: 'hm', thinking: 'deep thoughts', stopReason: 'pause_turn' }
      : error()
  }
  return { script, requests }
}

/** The result, while the clock moves: an overloaded provider is left alone for a while. */
async function resultOf({ clock }: TestEngine, run: Run): Promise<RunResult> {
  let isOver = false
  void run.result.finally(() => {
    isOver = true
  })
  for (let i = 0; i < 100 && !isOver; i++) await clock.advanceAsync(60_000)
  return run.result
}

describe('a fallback model', () => {
  it('answers for the rest of the run when the retries are used up, without the thoughts of the first', async () => {
    const { script, requests } = play()
    const test = testEngine(script, options)
    const { engine, facts } = test
    const result = await resultOf(test, engine.run('go'))
    expect(result).toMatchObject({ status: 'completed', text: 'the other answer', turns: 2 })
    expect(requests.map(({ model }) => model)).toEqual(['first', 'first', 'second'])
    expect(facts.find(({ event }) => event.type === 'model.changed')?.event).toMatchObject({
      from: 'first',
      to: 'second',
      why: { code: 'overloaded' },
    })
    expect(JSON.stringify(requests[1]?.messages)).toContain('deep thoughts')
    expect(JSON.stringify(requests[2]?.messages)).not.toContain('deep thoughts')
    await engine.close()
  })

  it('is left again with the next run', async () => {
    const { script, requests } = play()
    const test = testEngine(script, options)
    const { engine } = test
    const { sessionId } = await resultOf(test, engine.run('go'))
    await resultOf(test, engine.run('again', { sessionId }))
    expect(requests.slice(3).map(({ model }) => model)).toEqual(['first', 'second'])
    await engine.close()
  })

  it('takes no place for other errors, and has nobody behind it', async () => {
    const wrong = play(() => new ModelError('invalid-request', 'no', { retryable: false }))
    const first = testEngine(wrong.script, options)
    expect(await first.engine.run('go').result).toMatchObject({ fault: { code: 'invalid-request' } })
    expect(story(first.facts)).not.toContain('model.changed')
    await first.engine.close()
    const second = testEngine(() => overloaded(), options)
    expect(await resultOf(second, second.engine.run('go'))).toMatchObject({ fault: { code: 'overloaded' } })
    expect(story(second.facts).filter((type) => type === 'model.changed')).toHaveLength(1)
    await second.engine.close()
  })

  it('goes on after a crash', async () => {
    const first = testEngine((request: ModelRequest) => {
      if (request.model === 'first') return overloaded()
      return new Promise<ScriptedReply>(() => {})
    }, options)
    const hasChanged = firstValueFrom(
      first.engine.events$.pipe(
        filter((event) => event.kind === 'fact' && event.event.type === 'model.changed'),
      ),
    )
    const run = first.engine.run('go')
    run.result.catch(() => {})
    await hasChanged
    await first.engine.close()
    const models: string[] = []
    const second = testEngine(
      (request: ModelRequest) => {
        models.push(request.model)
        return say('here')
      },
      { ...options, storage: first.storage.crash(), idsFrom: 1_000 },
    )
    const resumed = await second.engine.resume(run.sessionId)
    expect(await resumed?.result).toMatchObject({ text: 'here' })
    expect(models).toEqual(['second'])
    await second.engine.close()
  })
})
